-- Pays for tokens of a line out of the budget, as many as there is budget for.
--
-- $1 queue | $2 tokens | $3 budget a second | $4 burst | $5 tokens a day; 0: any
SELECT granted, wait_ms
FROM mailroom_spend($1, $2::int, $3::float8, $4::float8, $5::bigint)
