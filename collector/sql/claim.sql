-- A new epoch fences every earlier session: its moves compare the epoch. The
-- holder was looked at before the lock was taken; if somebody else came and
-- went in between, this finds nothing.
--
-- $1 queue | $2 our name | $3 the holder as it was seen, '' for nobody
UPDATE jobs
SET epoch = epoch + 1, holder = $2
WHERE job_type::text = $1 AND coalesce(holder, '') = $3
RETURNING epoch, last_xid, last_seq
