-- Ends our own earlier session, which after a network failure may still hold
-- the lock and may still have a move of the cursor to commit.
SELECT pg_terminate_backend(pid)
FROM pg_stat_activity
WHERE pid = $1::int AND extract(epoch FROM backend_start) = $2::numeric
