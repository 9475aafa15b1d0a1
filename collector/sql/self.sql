-- Identifies our backend, for the session after this one.
SELECT pid, extract(epoch FROM backend_start) AS since
FROM pg_stat_activity
WHERE pid = pg_backend_pid()
