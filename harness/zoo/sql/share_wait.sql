-- Locks the cursor. A claim in the same transaction finds it where it stands. $1 queue
SELECT FROM jobs WHERE job_type = $1::job_type FOR UPDATE
