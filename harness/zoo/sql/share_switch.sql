-- Carries the queue over to sharing, unless somebody has done so. $1 queue
SELECT mailroom_switch_mode($1, 'skip-locked')
FROM jobs
WHERE job_type::text = $1 AND mode <> 'skip-locked'
