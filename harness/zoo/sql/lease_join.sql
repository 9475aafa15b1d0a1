-- Returns null when we may lease, otherwise the reason why not. $1 queue, $2 our number.
SELECT mailroom_join($1, $2::bigint, '{}', 'zoo', '', '')
