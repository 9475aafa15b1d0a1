-- Reads the next line of the only collector, and changes nothing. The columns are those of
-- lines.sql, and three more; the kind of a token that is passed over is 5.
--
-- $1 queue | $2 our epoch | $3 tokens to look at | $4 the place behind which to read, or null
SELECT CASE WHEN r.passed IS NULL THEN r.kind ELSE 5 END AS kind, NULL::bigint AS line,
       NULL::bigint AS nonce, r.token, 1 AS number, NULL::int AS errors, r.email, r.login, r.secret,
       r.code, NULL::bool AS more, NULL::bigint AS expired, NULL::bigint AS consumed,
       NULL::bigint AS others, NULL::bigint AS wait_ms, NULL::bigint AS next_due_ms,
       NULL::bool AS alone, NULL::int AS rest, NULL::text AS now, NULL::bool AS busy, r.place,
       r.part, r.xid, r.passed
FROM mailroom_read($1, $2::bigint, $3::int, $4) AS r
