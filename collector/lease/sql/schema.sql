-- The first migration that leased mode needs and does not find, or null.
SELECT CASE WHEN to_regproc('mailroom_lease') IS NULL THEN '000019_outcome.up.sql' END
