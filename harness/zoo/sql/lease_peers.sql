-- Renews our lease, and frees what the owners in $3 have, unless their counters have moved from $4.
-- Returns the owners that are gone now, and their counters.
--
-- $1 queue
-- $2 our number
SELECT coalesce(array_agg(other), '{}'), coalesce(array_agg(renewed), '{}')
FROM mailroom_peers($1, $2::bigint, 'leased', 'zoo',
    epoch => (SELECT j.epoch FROM jobs AS j WHERE j.job_type::text = $1),
    gone => $3::bigint[], counters => $4::bigint[],
    hangs => array_fill(false, ARRAY[cardinality($3::bigint[])]))
WHERE state = 'other' AND NOT alive
