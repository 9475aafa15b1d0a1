-- Chooses the tokens of a take, behind tokens.sql or lanes.sql; take_lane.sql or take_lanes.sql
-- follows, and then taken.sql. Nothing is read of an account while the cursor is locked: the
-- statement `stock` (queue.c) reads and judges the tokens afterwards. Consumed and expired ones are
-- passed over here.
--
-- $2 tokens to take at most | $3 rows to examine at most
-- $6 after the take, we have a multiple of this number of tokens
-- $7 tokens that we have before it
, walk AS MATERIALIZED (
    SELECT part, xid, id, passed,
           row_number() OVER so_far AS examined,
           count(*) FILTER (WHERE passed IS NULL) OVER so_far AS place
    FROM (SELECT part, xid, id,
                 CASE
                     WHEN consumed_at IS NOT NULL THEN 'consumed'
                     WHEN expires_at <= (SELECT floor(extract(epoch FROM now()))::bigint) THEN 'expired'
                 END AS passed
          FROM behind
          OFFSET 0) AS t
    WINDOW so_far AS (ROWS UNBOUNDED PRECEDING)
), found AS MATERIALIZED (
    SELECT *
    FROM walk
    WHERE passed IS NULL
    LIMIT $2::int
), turn AS MATERIALIZED (
    SELECT count(*) AS found, greatest(count(*) - ($7::int + count(*)) % $6::int, 0) AS taken
    FROM found
), last AS MATERIALIZED (
    -- There are two separate branches, so that a full take need not look beyond its end.
    (SELECT *, false AS every
     FROM found
     WHERE place = (SELECT taken FROM turn WHERE taken < found OR found = $2::int))
    UNION ALL
    (SELECT *, examined < $3::int
     FROM walk
     WHERE (SELECT taken = found AND found < $2::int FROM turn)
     ORDER BY examined DESC
     LIMIT 1)
)
