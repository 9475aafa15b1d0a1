-- Confirms a delivery that is still ours, and in the same commit records the rows
-- that the wire cannot carry.
--
-- $1 n | $2 our number | $3 to $6 dead letters: token, account, action, reason
WITH done AS (
    DELETE FROM deliveries
    WHERE n = $1::bigint AND owner = $2::bigint
    RETURNING pg_advisory_unlock_shared(owner) -- nothing is in hand any more
), dead AS (
    INSERT INTO dead_letters (token, account, action, reason)
    SELECT d.*
    FROM done, unnest($3::bigint[], $4::bigint[], $5::token_action[], $6::text[]) AS d
)
SELECT count(*) FROM done
