-- Marks what is still ours of what was written, with its dead letters. Sent a
-- second time it does nothing.
-- $1 our number | $2 tokens, comma-joined | $3 dead ones of them | $4 their reasons
WITH marked AS (
    UPDATE tokens
    SET processed_at = extract(epoch FROM now())
    WHERE id = ANY (string_to_array($2, ',')::bigint[])
      AND claimed_by = $1::bigint AND processed_at IS NULL
    RETURNING id, account, action
)
INSERT INTO dead_letters (token, account, action, reason)
SELECT m.id, m.account, m.action, dead.reason
FROM marked AS m
JOIN unnest(string_to_array($3, ',')::bigint[], string_to_array($4, ',')) AS dead (id, reason)
    ON dead.id = m.id
