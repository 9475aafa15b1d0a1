-- Gives back our lines that we have not written: the answer to the call that took them got lost.
--
-- $1 queue
-- $2 our number
-- $3 the lines that we have written and not settled
SELECT count(back.kind)
FROM mailroom_settle_lines($1, $2::bigint, NULL, NULL, in_doubt => '{}') AS ours
CROSS JOIN LATERAL mailroom_settle_lines($1, $2::bigint, ARRAY[ours.line], ARRAY[ours.nonce], 'back') AS back
WHERE ours.kind = 'ours' AND ours.line <> ALL ($3::bigint[])
