-- Settles lines, or gives them back. A row with kind 4 is a line that was no longer ours, as in
-- lines.sql.
--
-- $1 queue | $2 our number | $3, $4 the lines and their nonces | $5 written or back
-- $6 the last token of each that was in the line | $7, $8 dead letters: tokens, reasons
-- $9 whether to release the lock for work in hand
-- $10 the place of a line that was only read
SELECT 4 AS kind
FROM mailroom_settle_lines($1, $2::bigint, $3::bigint[], $4::bigint[], $5, $6::bigint[],
    $7::bigint[], $8::text[], $10) AS s
UNION ALL
SELECT NULL FROM (SELECT) AS once WHERE $9::bool AND NOT pg_advisory_unlock_shared($2::bigint)
