-- Leases a line. Returns the columns of read.sql, then the line's row in deliveries and its nonce, and
-- for each token the number of this attempt and how many attempts failed before it, then whether the
-- budget has left tokens over. If tokens wait and none is leased, because they are too few or the budget is spent,
-- it returns rows without a line.
--
-- $1 queue
-- $2 our number
-- $3 limit
-- $4 budget per second, 0: none
-- $5 burst
-- $6 whether a lower lane goes first when its oldest token has waited for $7 seconds
-- $8 number of tokens below which nothing is leased
WITH taken AS MATERIALIZED (
    SELECT * FROM mailroom_take($1, $2::bigint, NULL, $3::int, $8::int, answers => true,
        per_s => $4::float8, burst => $5::float8, aged => $6::bool, ageing_s => $7::int)
)
SELECT 'f', '0', '0', '0', token, kind, email, login, encode(secret, 'hex'), code, NULL,
       line, nonce, number, errors,
       (SELECT $4::float8 > 0 AND (max(wait_ms) > 0
            OR (bool_or(more) AND count(*) FILTER (WHERE kind IN (1, 2)) < $3::int)) FROM taken)
FROM taken AS t
WHERE t.kind IN (1, 2)
   OR ((t.kind = 3 OR t.wait_ms > 0) AND NOT EXISTS (SELECT FROM taken WHERE kind IN (1, 2)))
