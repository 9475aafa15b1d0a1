-- Judges what is ours, and then what is behind the cursor; between cursor.sql with ours.sql, and
-- walk.sql.
--
-- $3 rows to examine at most
, base AS (
    SELECT *
    FROM (SELECT * FROM ours
          UNION ALL
          SELECT * FROM behind) AS t
    LIMIT $3::int
)
