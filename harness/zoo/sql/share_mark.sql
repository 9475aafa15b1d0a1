-- Takes what is still ours of what was written from deliveries, with its dead
-- letters. Sent a second time it does nothing.
-- $1 our number | $2 tokens, comma-joined | $3 dead ones of them | $4 their reasons
WITH marked AS (
    DELETE FROM deliveries
    WHERE owner = $1::bigint AND tokens && string_to_array($2, ',')::bigint[]
    RETURNING tokens
)
INSERT INTO dead_letters (token, account, action, reason)
SELECT t.id, t.account, t.action, dead.reason
FROM marked AS m
JOIN unnest(string_to_array($3, ',')::bigint[], string_to_array($4, ',')) AS dead (id, reason)
    ON dead.id = ANY (m.tokens)
JOIN tokens AS t ON t.id = dead.id
