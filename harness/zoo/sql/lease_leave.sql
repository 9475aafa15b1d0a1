-- Gives back our tokens that have no answer. $1 queue | $2 our number
SELECT mailroom_leave($1, $2::bigint, 'stopped', 0)
