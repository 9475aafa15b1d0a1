-- The tail of a move, behind move.sql, for a batch with rows that the wire cannot carry: records
-- these in the same commit. Most batches have no such rows, and moved.sql costs them less.
--
-- $7, $8 dead letters: token, reason
, dead AS (
    INSERT INTO dead_letters (token, account, action, reason)
    SELECT t.id, t.account, t.action, d.reason
    FROM moved, unnest($7::bigint[], $8::text[]) AS d (token, reason)
    JOIN tokens AS t ON t.id = d.token
)
SELECT count(*) FROM moved
