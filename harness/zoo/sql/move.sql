-- Moves the cursor if it still stands where it was read; records the dead
-- letters that it passes in the same statement. A second time it does nothing.
-- $1 queue | $2, $3 from | $4, $5 to | $6 dead tokens, comma-joined | $7 their
-- reasons
WITH moved AS (
    UPDATE jobs SET last_xid = $4::xid8, last_seq = $5::bigint
    WHERE job_type = $1::job_type AND (last_xid, last_seq) = ($2::xid8, $3::bigint)
    RETURNING 1
)
INSERT INTO dead_letters (token, account, action, reason)
SELECT t.id, t.account, t.action, dead.reason
FROM moved,
     unnest(string_to_array($6, ',')::bigint[], string_to_array($7, ',')) AS dead (id, reason)
JOIN tokens AS t ON t.id = dead.id
