-- Leaves in good order: the next collector need not wait for us, and what we
-- took and did not begin to write belongs to nobody again. It is one statement,
-- because nobody waits for its answer.
--
-- $1 queue | $2 our name | $3 our number | $4 an n before which nothing is ours
WITH back AS (
    UPDATE deliveries
    SET owner = 0
    WHERE queue = $1::job_type AND owner = $3::bigint AND n >= $4::bigint
    RETURNING queue
), nobody AS (
    INSERT INTO owners (queue, owner)
    SELECT DISTINCT queue, 0 FROM back
    ON CONFLICT (queue, owner) DO UPDATE SET renewed = owners.renewed + 1
), gone AS (
    DELETE FROM owners WHERE queue = $1::job_type AND owner = $3::bigint
)
UPDATE jobs
SET holder = NULL,
    last_seq = greatest(last_seq, (SELECT id FROM cursors
                                   WHERE queue = $1::job_type AND lane = 1
                                   ORDER BY n DESC LIMIT 1))
WHERE job_type = $1::job_type AND holder = $2
