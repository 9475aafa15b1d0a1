-- Moves the cursor, if it still stands where this session left it, and in the
-- same commit records the rows behind it that the wire cannot carry.
--
-- $1 queue | $2 epoch | $3, $4 old position | $5, $6 new position
-- $7 to $10 dead letters: token, account, action, reason
WITH moved AS (
    UPDATE jobs
    SET last_xid = $5::xid8, last_seq = $6::bigint
    WHERE job_type = $1::job_type
      AND epoch = $2::bigint
      AND (last_xid, last_seq) = ($3::xid8, $4::bigint)
    RETURNING 1
), dead AS (
    INSERT INTO dead_letters (token, account, action, reason)
    SELECT d.*
    FROM moved, unnest($7::bigint[], $8::bigint[], $9::token_action[], $10::text[]) AS d
)
SELECT count(*) FROM moved
