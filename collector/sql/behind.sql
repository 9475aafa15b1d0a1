-- Judges what is behind the cursor; between cursor.sql and walk.sql.
, base AS (SELECT * FROM behind)
