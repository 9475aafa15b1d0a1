-- Records what became of tokens.
--
-- $1 queue | $2 our number | $3 to $11 the results | $12 whether they may have been sent before
SELECT * FROM mailroom_answer($1, $2::bigint, $3::bigint[], $4::bigint[], $5::int[], $6::text[],
    $7::text[], $8::int[], $9::bigint[], $10::bool[], $11::bigint[], $12::bool)
