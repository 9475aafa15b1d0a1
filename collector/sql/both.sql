-- Makes walk.sql, which follows, judge the tokens that we have taken and then those behind the
-- cursor. tokens.sql or lanes.sql, and ours.sql, come before.
--
-- $3 rows to examine at most
, base AS (
    SELECT *
    FROM (SELECT * FROM ours
          UNION ALL
          SELECT * FROM behind) AS t
    LIMIT $3::int
)
