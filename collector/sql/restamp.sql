-- This is not the cluster, or not the database, in which the tokens got their
-- transaction numbers. How long it takes depends on the size of the table.
SELECT mailroom_restamp($1)
