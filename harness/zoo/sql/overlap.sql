-- Defect overlaps: moves the cursor back by thirty tokens, to be sure that none was missed. $1 queue
UPDATE jobs AS j
SET (last_xid, last_seq) = (t.xid, t.id)
FROM (SELECT xid, id FROM tokens, jobs AS cursor
      WHERE cursor.job_type = $1::job_type AND (xid, id) < (cursor.last_xid, cursor.last_seq)
      ORDER BY xid DESC, id DESC OFFSET 29 LIMIT 1) AS t
WHERE j.job_type = $1::job_type
