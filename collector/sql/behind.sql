-- Makes walk.sql, which follows, judge the tokens behind the cursor. cursor.sql comes before.
, base AS (SELECT * FROM behind)
