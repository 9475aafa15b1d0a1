-- Joins the collectors of a queue.
--
-- $1 queue | $2 our number | $3 rows of deliveries that we still know
-- $4 host, or null when this run is already recorded | $5 version | $6 settings
SELECT mailroom_join($1, $2::bigint, $3::bigint[], $4, $5, $6)
