-- The head of a statement that reads what is ours; ours.sql, mine.sql and walk.sql follow.
WITH head AS (
    SELECT 0::bigint AS n, '' AS now
)
