-- Makes walk.sql, which follows, judge the tokens behind the cursor. tokens.sql comes before.
, base AS (SELECT * FROM behind)
