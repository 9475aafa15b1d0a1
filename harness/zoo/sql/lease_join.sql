-- Returns null when we may lease, otherwise the reason why not. $1 queue, $2 our number.
SELECT nullif(state, 'ours')
FROM mailroom_peers($1, $2::bigint, 'leased', 'zoo', host => 'zoo', version => '', settings => '')
WHERE state <> 'other'
