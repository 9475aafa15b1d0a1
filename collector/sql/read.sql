-- The tail of a read, after a head and walk.sql. A read changes nothing.
--
-- $2 tokens wanted
--
-- The row with what = 3 comes first: `id` is the n of the cursor, or the epoch when there are
-- lanes, and `email` the snapshot that was read in. With what = 1 or 2 a row is a token of that
-- action. A batch that is not full ends with a row that has what = 0: the last position examined,
-- and how many tokens were passed over. Each column costs the server 1% of its time; a null costs
-- less.
(SELECT 3 AS what, 0 AS part, '0'::xid8 AS to_xid, '0'::xid8 AS xid, n AS id, now::varchar AS email,
        NULL AS login, NULL::bytea AS secret, NULL AS code,
        0::bigint AS examined, NULL::bigint AS expired, NULL::bigint AS consumed
 FROM head)
UNION ALL
(SELECT CASE action WHEN 'activation' THEN 1 ELSE 2 END, part, to_xid, xid, id,
        email, login, secret, code, examined, nullif(expired, 0), nullif(consumed, 0)
 FROM walk
 WHERE passed IS NULL
 LIMIT $2::int)
UNION ALL
(SELECT 0, coalesce(w.part, 0), '0', coalesce(w.xid, '0'), coalesce(w.id, 0), NULL, NULL,
        NULL, NULL, coalesce(w.examined, 0), w.expired, w.consumed
 FROM (SELECT) AS always
 LEFT JOIN (SELECT * FROM walk ORDER BY examined DESC LIMIT 1) AS w ON true)
LIMIT $2::int + 1
