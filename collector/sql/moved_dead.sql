-- The tail of a move, behind move.sql, that in the same commit records the rows that the wire
-- cannot carry. Most batches have none, and do without the cost of starting this part.
--
-- $7, $8 dead letters: token, reason
, dead AS (
    INSERT INTO dead_letters (token, account, action, reason)
    SELECT t.id, t.account, t.action, d.reason
    FROM moved, unnest($7::bigint[], $8::text[]) AS d (token, reason)
    JOIN tokens AS t ON t.id = d.token
)
SELECT count(*) FROM moved
