-- Locks the cursor, so that nobody moves it before the claim in the same transaction. $1 queue
SELECT FROM jobs WHERE job_type = $1::job_type FOR UPDATE
