-- Judges what is ours; between ours.sql and walk.sql.
, base AS (SELECT * FROM ours)
