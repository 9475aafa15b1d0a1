-- Lets walk.sql, which follows, judge what is ours and then what is behind the cursor; cursor.sql
-- and ours.sql come before.
--
-- $3 rows to examine at most
, base AS (
    SELECT *
    FROM (SELECT * FROM ours
          UNION ALL
          SELECT * FROM behind) AS t
    LIMIT $3::int
)
