-- Makes a new cursor in place of one that cannot be used: it is of the older kind, or of another
-- cluster. The time that this takes depends on the size of the table.
SELECT mailroom_settle($1, $2)
