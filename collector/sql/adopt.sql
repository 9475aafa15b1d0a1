-- Takes over the oldest delivery of another owner, or as much of it as a line
-- holds. An owner that has come back, which its lock shows, keeps its delivery; owner 0 is nobody.
-- The delivery gets a new n, so that ours are always numbered in the order in
-- which they became ours.
--
-- $1 queue | $2 the other's number | $3 our number | $4 tokens at most
-- $5 whether the other may be alive, because its lease is over
WITH old AS MATERIALIZED (
    SELECT n, tokens
    FROM deliveries
    WHERE queue = $1::job_type AND owner = $2::bigint AND owner <> $3::bigint
      AND ($5::bool OR $2::bigint = 0 OR pg_try_advisory_xact_lock_shared($2::bigint))
    ORDER BY n
    LIMIT 1
    FOR UPDATE SKIP LOCKED
), whole AS (
    DELETE FROM deliveries AS d
    USING old
    WHERE d.queue = $1::job_type AND d.owner = $2::bigint AND d.n = old.n
      AND cardinality(old.tokens) <= $4::int
), rest AS (
    UPDATE deliveries AS d
    SET tokens = old.tokens[$4::int + 1:]
    FROM old
    WHERE d.queue = $1::job_type AND d.owner = $2::bigint AND d.n = old.n
      AND cardinality(old.tokens) > $4::int
)
INSERT INTO deliveries (queue, owner, tokens)
SELECT $1::job_type, $3::bigint, tokens[:$4::int]
FROM old
