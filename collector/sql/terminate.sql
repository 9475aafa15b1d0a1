-- Ends our own earlier session, which after a network failure may still hold
-- the lock and may still commit a move of the cursor.
SELECT pg_terminate_backend(pid)
FROM pg_stat_activity
WHERE pid = $1::int AND extract(epoch FROM backend_start) = $2::numeric
