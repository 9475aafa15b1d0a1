-- Defect cursor-back: the last ten tokens that were taken are to be done again.
-- $1 queue
INSERT INTO deliveries (queue, owner, tokens)
SELECT j.job_type, 0, ARRAY[t.id]
FROM jobs AS j
CROSS JOIN LATERAL (SELECT id
                    FROM tokens
                    WHERE (xid, id) <= (j.last_xid, j.last_seq)
                    ORDER BY xid DESC, id DESC
                    LIMIT 10) AS t
WHERE j.job_type::text = $1
