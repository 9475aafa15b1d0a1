-- Identifies our backend, so that our next session can end it.
SELECT pid, extract(epoch FROM backend_start) AS since
FROM pg_stat_activity
WHERE pid = pg_backend_pid()
