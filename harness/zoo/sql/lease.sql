-- Leases a line; the columns of read.sql, then the line's row, and of each token its
-- attempt's number and the errors before it.
--
-- $1 queue | $2 our number | $3 limit | $4 budget per second, 0: none | $5 burst
-- $6 a lower lane first, if its oldest token has waited for $7 seconds
SELECT 'f', '0', '0', '0', token, action, email, login, encode(secret, 'hex'), code, NULL,
       line, number, errors
FROM mailroom_lease($1, $2::bigint, $3::int, 1, '-infinity', $4::float8, $5::float8, 0,
    $6::bool, $7::int)
WHERE kind = 1
