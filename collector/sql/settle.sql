-- The cursor cannot be read on: it is of the older kind, or of another cluster.
-- How long it takes depends on the size of the table.
SELECT mailroom_settle($1, $2)
