-- The tail of a take: behind cursor.sql and walk.sql this moves the cursor, if
-- there are enough tokens, and records in deliveries what becomes ours. Rows
-- that are passed over on the way stay passed. The answer has the form of
-- read.sql's, with a token's place in the delivery as its part; the end's is 1
-- if nothing is left.
--
-- Tokens that the wire cannot carry (line.c) become ours as well, and do not
-- count towards a batch.
--
-- $2 tokens wanted | $4 our number | $5 fewest to take; 0: only what is in front of the
-- first token that can be sent
, mine AS NOT MATERIALIZED (
    SELECT *, row_number() OVER () AS place
    FROM walk
    WHERE passed IS NULL
), able AS NOT MATERIALIZED (
    SELECT place, examined
    FROM mine
    WHERE (email || login) !~ '[,"\u0001-\u001f\u007f-\u009f]' AND length(secret) = 32
      AND CASE WHEN code IS NULL THEN action = 'activation' ELSE code ~ '^[0-9]{5}$' END
), stop AS MATERIALIZED (
    SELECT *
    FROM able
    OFFSET CASE $5::int WHEN 0 THEN 0 ELSE $2::int - 1 END
    LIMIT 1
), turn AS MATERIALIZED (
    SELECT place - ($5::int = 0)::int AS place, examined - ($5::int = 0)::int AS until
    FROM stop
    UNION ALL
    SELECT $3::int, NULL
    WHERE NOT EXISTS (SELECT FROM stop) AND (SELECT count(*) FROM able) >= $5::int
), last AS MATERIALIZED (
    -- Two separate branches, so that a full batch need not look beyond its end.
    (SELECT *, false AS every
     FROM walk
     WHERE (SELECT until IS NOT NULL FROM turn)
     OFFSET (SELECT greatest(until, 1) - 1 FROM turn)
     LIMIT (SELECT least(until, 1) FROM turn))
    UNION ALL
    (SELECT *, examined < $3::int AS every
     FROM walk
     WHERE (SELECT until IS NULL FROM turn)
     ORDER BY examined DESC
     LIMIT 1)
), moved AS (
    UPDATE cursors AS c
    SET n = c.n + 1,
        seen = CASE WHEN l.every THEN h.now WHEN l.part = 2 THEN h.tick ELSE h.seen END,
        tick = CASE WHEN l.every OR l.part = 2 THEN h.now ELSE h.tick END,
        xid = l.xid, id = l.id
    FROM cursor AS h, last AS l
    -- Not a join, because the planner might walk all earlier versions of the
    -- row for it.
    WHERE c.queue = $1::job_type AND c.lane = 1 AND c.n = (SELECT n FROM cursor)
), delivery AS (
    INSERT INTO deliveries (queue, owner, tokens)
    SELECT $1::job_type, $4::bigint, array_agg(id ORDER BY place)
    FROM (SELECT id, place
          FROM mine
          LIMIT (SELECT coalesce(max(place), 0) FROM turn)) AS taken
    HAVING count(*) > 0
    RETURNING n, pg_try_advisory_lock_shared($4) -- we have something in hand
)
(SELECT 3 AS what, 0 AS part, '0'::xid8 AS to_xid, '0'::xid8 AS xid,
        coalesce((SELECT n FROM delivery), 0) AS id, ''::varchar AS email,
        NULL AS login, NULL::bytea AS secret, NULL AS code,
        0::bigint AS examined, NULL::bigint AS expired, NULL::bigint AS consumed)
UNION ALL
(SELECT CASE action WHEN 'activation' THEN 1 ELSE 2 END, place::int, '0', xid, id,
        email, login, secret, code, examined, nullif(expired, 0), nullif(consumed, 0)
 FROM mine
 LIMIT (SELECT coalesce(max(place), 0) FROM turn))
UNION ALL
(SELECT 0, coalesce(l.every, false)::int, '0', '0', 0, NULL, NULL, NULL, NULL,
        coalesce(l.examined, 0), l.expired, l.consumed
 FROM (SELECT) AS always
 LEFT JOIN last AS l ON true)
