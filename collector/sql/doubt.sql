-- Returns which of these tokens, whose line is out, still wait to be passed:
-- beyond the cursor of their lane, or in a delivery of ours. Nobody else passes them while we
-- have the queue.
--
-- $1 queue | $2 our number | $3 their ids
SELECT t.id, t.secret
FROM unnest($3::bigint[]) AS doubtful (id)
JOIN tokens AS t USING (id)
CROSS JOIN generate_series(1, cardinality(enum_range(NULL::token_action))) AS l (lane)
CROSS JOIN LATERAL (SELECT * FROM cursors WHERE queue = $1::job_type AND lane = l.lane
                    ORDER BY n DESC LIMIT 1) AS c
WHERE t.action = ANY (c.actions)
  AND (NOT (pg_visible_in_snapshot(t.xid, c.seen)
            OR pg_visible_in_snapshot(t.xid, c.tick) AND (t.xid, t.id) <= (c.xid, c.id))
       OR t.id IN (SELECT unnest(d.tokens) -- the server makes one hash table of these ids
                   FROM deliveries AS d
                   WHERE d.queue = $1::job_type AND d.owner = $2::bigint))
