-- Confirms a delivery that is still ours, or the first part of it, and in the same
-- commit records the rows that the wire cannot carry.
--
-- The queue is named so that either index finds the row by equality. Without it the
-- planner may walk all of deliveries_owner_idx, the entries of deleted rows too.
--
-- $1 n | $2 our number | $3, $4 dead letters: token, reason
-- $5 how many tokens of it, if not all; 0: all | $6 queue
WITH part AS (
    UPDATE deliveries
    SET tokens = tokens[$5::int + 1:]
    WHERE queue = $6::job_type AND owner = $2::bigint AND n = $1::bigint
      AND $5::int > 0
    RETURNING 1
), done AS (
    DELETE FROM deliveries
    WHERE queue = $6::job_type AND owner = $2::bigint AND n = $1::bigint
      AND $5::int = 0
    RETURNING pg_advisory_unlock_shared(owner) -- nothing is in hand any more
), ours AS (
    SELECT FROM part
    UNION ALL
    SELECT FROM done
), dead AS (
    INSERT INTO dead_letters (token, account, action, reason)
    SELECT t.id, t.account, t.action, d.reason
    FROM ours, unnest($3::bigint[], $4::text[]) AS d (token, reason)
    JOIN tokens AS t ON t.id = d.token
)
SELECT count(*) FROM ours
