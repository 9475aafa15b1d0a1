-- The head of a statement that reads the tokens that we have taken; ours.sql, mine.sql and walk.sql
-- follow.
WITH head AS (
    SELECT 0::bigint AS n, '' AS now
)
