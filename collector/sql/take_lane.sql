-- Moves the cursor of a queue with one lane past what was taken. take.sql comes before.
, moved AS (
    UPDATE cursors AS c
    SET n = c.n + 1,
        seen = CASE WHEN l.every THEN h.now WHEN l.part = 2 THEN h.tick ELSE h.seen END,
        tick = CASE WHEN l.every OR l.part = 2 THEN h.now ELSE h.tick END,
        xid = l.xid, id = l.id, written = pg_current_xact_id()
    FROM cursor AS h, last AS l
    -- This is no join, because the planner might walk all earlier versions of the
    -- row for it.
    WHERE c.queue = $1::job_type AND c.lane = 1 AND c.n = (SELECT n FROM cursor)
)
