-- For several defects, such as cursor-back: puts the cursor where it once was, even if another
-- collector has moved it since. $1 queue, $2 and $3 where it was.
UPDATE jobs SET last_xid = $2::xid8, last_seq = $3::bigint WHERE job_type = $1::job_type
