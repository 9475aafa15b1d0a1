-- The order in which the lanes are read: the first one first. lanes.sql follows.
, ranked AS (
    SELECT lane, actions, lane AS rank FROM cursor
)
