-- Settles a line that was only read, and not taken: moves the cursor to the line's place. A row says
-- that the queue is no longer ours, as in lines.sql.
--
-- $1 queue | $2 our number | $3 the place
SELECT 4 AS kind FROM mailroom_settle_lines($1, $2::bigint, '{}', '{}', place => $3) AS s
