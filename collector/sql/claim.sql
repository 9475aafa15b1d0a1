-- A new epoch and a new version of the cursor fence every earlier session: its
-- moves find another n, and its reads tell it so. The row of jobs was looked at
-- before the lock was taken; if somebody else came and went in between, this
-- finds nothing.
--
-- $1 queue | $2 our name | $3 our number | $4 the epoch that was seen | $5 the mode
WITH claimed AS (
    UPDATE jobs
    SET epoch = epoch + 1, holder = $2, renewed = renewed + 1,
        last_seq = greatest(last_seq, (SELECT max(id) FROM cursors WHERE queue = $1::job_type))
    WHERE job_type::text = $1 AND epoch = $4::bigint AND mode = $5
    RETURNING epoch
), fenced AS (
    UPDATE cursors
    SET n = n + 1
    FROM claimed
    WHERE queue = $1::job_type
    RETURNING lane, n
), known AS (
    INSERT INTO owners (queue, owner)
    SELECT $1::job_type, $3::bigint FROM claimed
    ON CONFLICT DO NOTHING
)
SELECT claimed.epoch, fenced.n
FROM claimed, fenced
WHERE lane = 1
