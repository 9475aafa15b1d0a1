-- Leases a line. Returns the columns of read.sql, then the line's row in deliveries and its nonce, and
-- for each token the number of this attempt and how many attempts failed before it.
--
-- $1 queue
-- $2 our number
-- $3 limit
-- $4 budget per second, 0: none
-- $5 burst
-- $6 whether a lower lane goes first when its oldest token has waited for $7 seconds
SELECT 'f', '0', '0', '0', token, kind, email, login, encode(secret, 'hex'), code, NULL,
       line, nonce, number, errors
FROM mailroom_take($1, $2::bigint, NULL, $3::int, 1, answers => true, per_s => $4::float8,
    burst => $5::float8, aged => $6::bool, ageing_s => $7::int)
WHERE kind IN (1, 2)
