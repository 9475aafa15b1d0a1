-- Makes walk.sql, which follows, judge the tokens that we have taken. ours.sql comes before.
, base AS (SELECT * FROM ours)
