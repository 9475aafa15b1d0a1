-- The tail of a read: behind a head, walk.sql and this nothing is changed.
--
-- $2 tokens wanted
--
-- Kind 2 comes first: `id` is the n of the cursor or of the delivery, `email` the
-- snapshot that was read in. Kind 1 is a token. A batch that is not full ends with
-- kind 0: the last position examined, and what was passed over.
(SELECT 2 AS kind, 0 AS part, '0'::xid8 AS to_xid, '0'::xid8 AS xid, n AS id, 0::bigint AS account,
        0 AS action, now AS email, NULL AS login, NULL::bytea AS secret, NULL AS code,
        0::bigint AS examined, 0::bigint AS expired, 0::bigint AS consumed
 FROM head)
UNION ALL
(SELECT 1, part, to_xid, xid, id, account, CASE action WHEN 'activation' THEN 1 ELSE 2 END,
        email, login, secret, code, examined, expired, consumed
 FROM walk
 WHERE passed IS NULL
 LIMIT $2::int)
UNION ALL
(SELECT 0, coalesce(w.part, 0), '0', coalesce(w.xid, '0'), coalesce(w.id, 0), NULL, NULL, NULL, NULL,
        NULL, NULL, coalesce(w.examined, 0), coalesce(w.expired, 0), coalesce(w.consumed, 0)
 FROM (SELECT) AS always
 LEFT JOIN (SELECT * FROM walk ORDER BY examined DESC LIMIT 1) AS w ON true)
LIMIT $2::int + 1
