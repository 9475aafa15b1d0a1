-- Confirms a delivery that is still ours, or the first part of it, and in the same
-- commit records the rows that the wire cannot carry.
--
-- $1 n | $2 our number | $3 to $6 dead letters: token, account, action, reason
-- $7 how many tokens of it, if not all; 0: all
WITH part AS (
    UPDATE deliveries
    SET tokens = tokens[$7::int + 1:]
    WHERE n = $1::bigint AND owner = $2::bigint AND $7::int > 0
    RETURNING 1
), done AS (
    DELETE FROM deliveries
    WHERE n = $1::bigint AND owner = $2::bigint AND $7::int = 0
    RETURNING pg_advisory_unlock_shared(owner) -- nothing is in hand any more
), ours AS (
    SELECT FROM part
    UNION ALL
    SELECT FROM done
), dead AS (
    INSERT INTO dead_letters (token, account, action, reason)
    SELECT d.*
    FROM ours, unnest($3::bigint[], $4::bigint[], $5::token_action[], $6::text[]) AS d
)
SELECT count(*) FROM ours
