-- Returns which of these tokens, whose line is out, still wait to be passed:
-- beyond the cursor, or in a delivery of ours. Nobody else passes them while we
-- have the queue.
--
-- $1 queue | $2 our number | $3 their ids
SELECT t.id, t.secret
FROM unnest($3::bigint[]) AS doubtful (id)
JOIN tokens AS t USING (id)
CROSS JOIN (SELECT * FROM cursors WHERE queue = $1::job_type AND lane = 1
            ORDER BY n DESC LIMIT 1) AS c
WHERE NOT (pg_visible_in_snapshot(t.xid, c.seen)
           OR pg_visible_in_snapshot(t.xid, c.tick) AND (t.xid, t.id) <= (c.xid, c.id))
   OR t.id IN (SELECT unnest(d.tokens) -- the server makes one hash table of these ids
               FROM deliveries AS d
               WHERE d.queue = $1::job_type AND d.owner = $2::bigint)
