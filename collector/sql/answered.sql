-- Records what became of tokens. Returns those whose line was no longer ours.
--
-- $1 queue | $2 our number | $3 to $10 the results | $11 whether to release the lock for work in
-- hand, as the last line does, which gives no row
SELECT s.token
FROM mailroom_settle_lines($1, $2::bigint, $3::bigint[], $4::bigint[], tokens => $5::bigint[],
    numbers => $6::int[], outcomes => $7::text[], texts => $8::text[], delays_ms => $9::bigint[],
    alones => $10::bool[]) AS s
UNION ALL
SELECT NULL FROM (SELECT) AS once WHERE $11::bool AND pg_advisory_unlock_shared($2::bigint) IS NULL
