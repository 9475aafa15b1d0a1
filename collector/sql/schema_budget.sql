-- The migration that a collector with a budget needs and does not find, or null.
SELECT CASE WHEN to_regproc('mailroom_spend') IS NULL THEN '000019_outcome.up.sql' END AS missing
