-- Records what became of tokens. Returns those whose line was no longer ours.
--
-- $1 queue | $2 our number | $3 to $10 the results
SELECT s.token
FROM mailroom_settle_lines($1, $2::bigint, $3::bigint[], $4::bigint[], tokens => $5::bigint[],
    numbers => $6::int[], outcomes => $7::text[], texts => $8::text[], delays_ms => $9::bigint[],
    alones => $10::bool[]) AS s
