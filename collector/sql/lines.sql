-- Settles lines, if there are any to settle, and takes the next ones in the same transaction.
--
-- $1 queue | $2 our number | $3 our epoch, or null where several collect | $4 tokens of a line
-- $5 the fewest that are taken | $6 lines | $7 whether lines are answered
-- $8 the rows of ours to read again, or null | $9 milliseconds in which something may have come due;
-- null: look at all; 0: at nothing | $10 budget a second | $11 burst | $12 tokens a day
-- $13 whether a lower lane goes first, if its oldest token has waited for $14 seconds
-- $15 whether to take the lock for work in hand (settle.c) with the first token
-- $16, $17 the lines to settle and their nonces | $18 the last token of each that was in the line
-- $19, $20 dead letters: tokens, reasons | $21 the place of a line that was only read
--
-- The snapshot is that of this statement, which is older than those in which the function looks. A
-- row with kind 4 is a line that was no longer ours. mailroom_take's first row is the head of the
-- answer (kind 0), and its second the first token, with which the lock is taken.
SELECT 4 AS kind, s.line, s.nonce, NULL::bigint AS token, NULL::int AS number, NULL::int AS errors,
       NULL::varchar AS email, NULL::varchar AS login, NULL::bytea AS secret, NULL::varchar AS code,
       false AS more, NULL::bigint AS expired, NULL::bigint AS consumed, NULL::bigint AS others,
       NULL::bigint AS wait_ms, NULL::bigint AS next_due_ms, false AS alone, NULL::int AS rest,
       NULL::text AS now, NULL::bool AS busy, NULL::text AS place
FROM mailroom_settle_lines($1, $2::bigint, $16::bigint[], $17::bigint[], ends => $18::bigint[],
    dead_tokens => $19::bigint[], dead_reasons => $20::text[], place => $21) AS s
WHERE cardinality($16::bigint[]) > 0 OR $21 IS NOT NULL
UNION ALL
SELECT t.kind, t.line, t.nonce, t.token, t.number, t.errors, t.email, t.login, t.secret, t.code, t.more,
       t.expired, t.consumed, t.others, t.wait_ms, t.next_due_ms, t.alone, t.rest,
       CASE WHEN t.kind = 0 THEN pg_current_snapshot()::text END,
       CASE WHEN t.ordinality = 2 AND t.kind IN (1, 2) AND $15::bool THEN pg_try_advisory_lock_shared($2::bigint) END,
       NULL::text
FROM mailroom_take($1, $2::bigint, $3::bigint, $4::int, $5::int, $6::int, answers => $7::bool,
    again => $8::bigint[], due_ms => $9::bigint, per_s => $10::float8, burst => $11::float8,
    daily => $12::bigint, aged => $13::bool, ageing_s => $14::int) WITH ORDINALITY AS t
