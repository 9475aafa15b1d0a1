-- The queue's lanes, in the words of MAILROOM_LANES. $1 queue
SELECT string_agg(array_to_string(actions, '+'), ',' ORDER BY lane)
FROM cursors
WHERE queue = $1::job_type
