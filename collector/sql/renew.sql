-- Tells the collectors that watch us that we live and have a batch in hand.
--
-- $1 queue | $2 our number | $3 the epoch that is ours, or null
WITH holder AS (
    UPDATE jobs SET renewed = renewed + 1
    WHERE job_type::text = $1 AND epoch = $3::bigint
    RETURNING 1
), owner AS (
    UPDATE owners SET renewed = renewed + 1
    WHERE queue::text = $1 AND owner = $2::bigint AND $3::bigint IS NULL
    RETURNING 1
)
SELECT (SELECT count(*) FROM holder) + (SELECT count(*) FROM owner)
