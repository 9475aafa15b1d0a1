-- A new epoch fences every earlier session: its moves compare the epoch.
UPDATE jobs
SET epoch = epoch + 1
WHERE job_type::text = $1
RETURNING epoch, last_xid, last_seq
