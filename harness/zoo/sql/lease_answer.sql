-- Records the outcome of one token.
--
-- $1 queue
-- $2 our number
-- $3 line
-- $4 token
-- $5 attempt
-- $6 outcome
-- $7 text
-- $8 errors so far
-- $9 delay, ms
-- $10 whether it is the line's last answer
SELECT * FROM mailroom_answer($1, $2::bigint, ARRAY[$3::bigint], ARRAY[$4::bigint], ARRAY[$5::int],
    ARRAY[$6::text], ARRAY[$7::text], ARRAY[$8::int], ARRAY[$9::bigint], ARRAY[false],
    CASE WHEN $10::bool THEN ARRAY[$3::bigint] ELSE '{}' END, false)
