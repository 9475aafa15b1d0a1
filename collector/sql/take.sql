-- The tail of a take: behind cursor.sql and walk.sql this moves the cursor, if
-- there are enough tokens, and writes down in deliveries what becomes ours. What
-- is passed over on the way stays passed. The answer has the form of read.sql's.
--
-- $2 tokens wanted | $4 our number | $5 fewest to take; 0: only pass what is in front
-- of the first token
, taken AS MATERIALIZED (
    SELECT * FROM walk WHERE passed IS NULL AND $5::int > 0 LIMIT $2::int
), turn AS MATERIALIZED (
    SELECT CASE
               WHEN $5 = 0 THEN (SELECT examined - 1 FROM walk WHERE passed IS NULL LIMIT 1)
               WHEN count(*) = $2::int THEN max(examined)
           END AS until
    FROM taken
    HAVING count(*) >= $5
), last AS MATERIALIZED (
    SELECT w.*, t.until IS NULL AND w.examined < $3::int AS every
    FROM turn AS t
    CROSS JOIN LATERAL (SELECT *
                        FROM walk
                        WHERE walk.examined <= coalesce(t.until, walk.examined)
                        ORDER BY walk.examined DESC
                        LIMIT 1) AS w
), moved AS (
    UPDATE cursors AS c
    SET n = c.n + 1,
        seen = CASE WHEN l.every THEN h.now WHEN l.part = 2 THEN h.tick ELSE h.seen END,
        tick = CASE WHEN l.every OR l.part = 2 THEN h.now ELSE h.tick END,
        xid = l.xid, id = l.id
    FROM cursor AS h, last AS l
    WHERE c.queue = h.queue AND c.lane = h.lane AND c.n = h.n
), delivery AS (
    INSERT INTO deliveries (queue, owner, tokens)
    SELECT $1::job_type, $4::bigint, array_agg(taken.id ORDER BY taken.examined)
    FROM turn, taken
    HAVING count(*) > 0
    RETURNING n, pg_try_advisory_lock_shared($4) -- we have something in hand
)
(SELECT 2 AS kind, 0 AS part, '0'::xid8 AS to_xid, '0'::xid8 AS xid,
        coalesce((SELECT n FROM delivery), 0) AS id, 0::bigint AS account, 0 AS action, '' AS email,
        NULL AS login, NULL::bytea AS secret, NULL AS code,
        0::bigint AS examined, 0::bigint AS expired, 0::bigint AS consumed)
UNION ALL
(SELECT 1, 0, '0', xid, id, account, CASE action WHEN 'activation' THEN 1 ELSE 2 END,
        email, login, secret, code, taken.examined, expired, consumed
 FROM taken, turn)
UNION ALL
(SELECT 0, 0, '0', '0', 0, NULL, NULL, NULL, NULL, NULL, NULL,
        coalesce(l.examined, 0), coalesce(l.expired, 0), coalesce(l.consumed, 0)
 FROM (SELECT) AS always
 LEFT JOIN last AS l ON true)
