-- Claims the queue. A new epoch and a new version of the first lane's cursor fence every earlier
-- session: its moves find another n, its takes another epoch, and its reads tell it so. The row
-- of jobs was looked at before the lock was taken. If another collector came and
-- went in between, or moves the cursor at this moment, the cursor stays as it
-- is, and no row is returned.
--
-- The claim also gives us the deliveries that others have taken and not confirmed. They keep their
-- n, so they go out in the order in which they were taken, whoever died on the way.
--
-- $1 queue | $2 our name | $3 our number | $4 the epoch that was seen | $5 the mode
WITH cursor AS MATERIALIZED (
    SELECT n, id
    FROM cursors
    WHERE queue = $1::job_type AND lane = 1
    ORDER BY n DESC
    LIMIT 1
), claimed AS (
    UPDATE jobs
    SET epoch = epoch + 1, holder = $2, renewed = renewed + 1,
        last_seq = greatest(last_seq, (SELECT id FROM cursor))
    WHERE job_type = $1::job_type AND epoch = $4::bigint AND mode = $5
    RETURNING epoch
), fenced AS (
    UPDATE cursors
    SET n = n + 1, written = pg_current_xact_id()
    FROM claimed
    WHERE queue = $1::job_type AND lane = 1 AND n = (SELECT n FROM cursor)
    RETURNING n
), known AS (
    INSERT INTO owners (queue, owner)
    SELECT $1::job_type, $3::bigint FROM claimed
    ON CONFLICT (queue, owner) DO UPDATE SET renewed = owners.renewed + 1
), adopted AS (
    UPDATE deliveries
    SET owner = $3::bigint
    FROM fenced
    WHERE queue = $1::job_type AND owner > 0 AND owner <> $3::bigint
    RETURNING cardinality(tokens) AS tokens
)
SELECT claimed.epoch, fenced.n, (SELECT coalesce(sum(tokens), 0) FROM adopted)
FROM claimed, fenced
