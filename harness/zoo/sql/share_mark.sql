-- Removes the written tokens that are still ours from deliveries, and records
-- the dead letters. A second time it does nothing.
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
