-- Lets walk.sql, which follows, judge what is ours; ours.sql comes before.
, base AS (SELECT * FROM ours)
