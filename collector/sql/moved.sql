-- The tail of a move, behind move.sql: whether the cursor moved.
SELECT count(*) FROM moved
