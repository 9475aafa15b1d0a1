-- Records the outcome of one token.
--
-- $1 queue
-- $2 our number
-- $3 line
-- $4 its nonce
-- $5 token
-- $6 attempt
-- $7 outcome
-- $8 delay, ms
SELECT kind FROM mailroom_settle_lines($1, $2::bigint, ARRAY[$3::bigint], ARRAY[$4::bigint],
    tokens => ARRAY[$5::bigint], numbers => ARRAY[$6::int], outcomes => ARRAY[$7::text],
    texts => ARRAY[''], delays_ms => ARRAY[$8::bigint], alones => ARRAY[false])
