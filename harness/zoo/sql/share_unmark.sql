-- Defect cursor-back: makes the last ten tokens before the cursor wait again.
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
