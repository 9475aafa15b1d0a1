-- Leases a line. Returns the columns of read.sql, then the line's row in deliveries, and for each
-- token the number of this attempt and how many attempts failed before it.
--
-- $1 queue
-- $2 our number
-- $3 limit
-- $4 budget per second, 0: none
-- $5 burst
-- $6 a lower lane goes first if its oldest token has waited for $7 seconds
SELECT 'f', '0', '0', '0', token, action, email, login, encode(secret, 'hex'), code,
       CASE
           WHEN email ~ '[,"\u0001-\u001f\u007f-\u009f]' THEN 'email'
           WHEN login ~ '[,"\u0001-\u001f\u007f-\u009f]' THEN 'login'
           WHEN length(secret) <> 32 THEN 'secret'
           WHEN code !~ '^[0-9]{5}$' OR (code IS NULL AND action = 2) THEN 'code'
       END,
       line, number, errors
FROM mailroom_lease($1, $2::bigint, $3::int, 1, '-infinity', $4::float8, $5::float8, 0,
    $6::bool, $7::int)
WHERE kind = 1
