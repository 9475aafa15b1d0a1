-- Confirms the tokens that we have taken, up to one of them, and in the same commit records the
-- rows that the wire cannot carry. It confirms all of our deliveries from the first to the last,
-- but of the last one only the part up to the token.
--
-- The queue is named so that either index finds the rows by equality. Without it the
-- planner may walk all of deliveries_owner_idx, the entries of deleted rows too.
--
-- $1 n of the last delivery | $2 our number | $3, $4 dead letters: token, reason
-- $5 the token | $6 queue | $7 n of the first delivery
WITH last AS MATERIALIZED (
    SELECT n, tokens[coalesce(array_position(tokens, $5::bigint), 0) + 1:] AS rest
    FROM deliveries
    WHERE queue = $6::job_type AND owner = $2::bigint AND n = $1::bigint
    FOR UPDATE
), part AS (
    UPDATE deliveries AS d
    SET tokens = last.rest
    FROM last
    WHERE d.queue = $6::job_type AND d.owner = $2::bigint AND d.n = $1::bigint
      AND last.rest <> '{}'
    RETURNING 1
), done AS (
    DELETE FROM deliveries AS d
    WHERE d.queue = $6::job_type AND d.owner = $2::bigint
      AND d.n BETWEEN $7::bigint AND $1::bigint
      AND (d.n < $1::bigint OR (SELECT rest = '{}' FROM last))
    RETURNING d.n
), ours AS (
    SELECT FROM part
    UNION ALL
    SELECT FROM done WHERE n = $1::bigint
), dead AS (
    INSERT INTO dead_letters (token, account, action, reason)
    SELECT t.id, t.account, t.action, d.reason
    FROM ours, unnest($3::bigint[], $4::text[]) AS d (token, reason)
    JOIN tokens AS t ON t.id = d.token
)
SELECT count(*),
       -- When nothing is in hand any more, the shared lock that says so is released.
       count(*) > 0 AND NOT EXISTS (SELECT FROM part) AND NOT EXISTS (
           SELECT FROM deliveries WHERE queue = $6::job_type AND owner = $2::bigint AND n > $1::bigint)
       AND pg_advisory_unlock_shared($2::bigint)
FROM ours
