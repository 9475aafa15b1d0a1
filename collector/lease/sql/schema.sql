-- Returns the first migration that leased mode needs and does not find, or null.
SELECT CASE WHEN to_regproc('mailroom_lease') IS NULL THEN '000019_outcome.up.sql'
            WHEN to_regtype('mailroom_leased_token') IS NULL THEN '000020_lease_in_one_walk.up.sql'
            WHEN to_regproc('mailroom_lanes') IS NULL THEN '000022_lanes.up.sql' END
