-- Returns our rows of deliveries, and those tokens of $3, whose line is out, that still wait.
--
-- $1 queue | $2 our number | $3 the tokens
SELECT s.line, s.nonce, s.token, s.secret
FROM mailroom_settle_lines($1, $2::bigint, NULL, NULL, in_doubt => $3::bigint[]) AS s
