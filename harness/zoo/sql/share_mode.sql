-- How the queue is dequeued. $1 queue
SELECT mode FROM jobs WHERE job_type::text = $1
