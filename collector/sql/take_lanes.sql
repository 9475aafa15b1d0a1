-- Moves the cursor of each lane past what was taken of it. A lane of which nothing was read stays
-- where it is. When the take went on to another lane, nothing was left of the lane before. take.sql
-- comes before.
, ends AS MATERIALIZED (
    SELECT DISTINCT ON ((w.part + 1) / 2) (w.part + 1) / 2 AS lane, w.part, w.xid, w.id,
           l.every OR w.examined < l.examined AS every
    FROM (SELECT * FROM walk LIMIT (SELECT examined FROM last)) AS w, last AS l
    ORDER BY (w.part + 1) / 2, w.examined DESC
), moved AS (
    UPDATE cursors AS c
    SET n = c.n + 1,
        seen = CASE WHEN e.every THEN h.now WHEN e.part % 2 = 0 THEN h.tick ELSE h.seen END,
        tick = CASE WHEN e.every OR e.part % 2 = 0 THEN h.now ELSE h.tick END,
        xid = e.xid, id = e.id, written = pg_current_xact_id()
    FROM ends AS e
    JOIN cursor AS h ON h.lane = e.lane
    -- The row's place finds it. To find it by its key, the planner might walk all earlier versions.
    WHERE c.ctid = h.at
)
