-- Returns the queue's lanes, written as in MAILROOM_LANES.
--
-- $1 queue
SELECT string_agg(array_to_string(c.actions, '+'), ',' ORDER BY l.lane)
FROM generate_series(1, cardinality(enum_range(NULL::token_action))) AS l (lane),
     LATERAL (SELECT actions -- the newest version: an old snapshot may keep very many
              FROM cursors
              WHERE queue = $1::job_type AND lane = l.lane
              ORDER BY n DESC
              LIMIT 1) AS c
