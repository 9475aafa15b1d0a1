-- Marks what a batch walked over; with it go its dead letters. Sent a second time
-- it does nothing.
-- $1 ids, comma-joined | $2 dead tokens | $3 their reasons
WITH marked AS (
    UPDATE tokens SET processed_at = extract(epoch FROM now())
    WHERE id = ANY (string_to_array($1, ',')::bigint[]) AND processed_at IS NULL
    RETURNING id, account, action
)
INSERT INTO dead_letters (token, account, action, reason)
SELECT m.id, m.account, m.action, dead.reason
FROM unnest(string_to_array($2, ',')::bigint[], string_to_array($3, ',')) AS dead (id, reason)
JOIN marked AS m ON m.id = dead.id
