-- The tail of a move, behind move.sql: returns 1 if the cursor moved, and 0 if not.
SELECT count(*) FROM moved
