-- Lets walk.sql, which follows, judge what is behind the cursor; cursor.sql comes before.
, base AS (SELECT * FROM behind)
