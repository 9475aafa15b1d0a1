-- Gives back our tokens that have no answer. $1 queue | $2 our number
SELECT state FROM mailroom_peers($1, $2::bigint, 'leased', 'zoo', leave => 'stopped', written => 0)
