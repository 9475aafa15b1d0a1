SELECT
    pid,
    coalesce(usename, ''),
    CASE WHEN state = 'active' THEN coalesce(wait_event_type || ':' || wait_event, 'running') ELSE '' END
FROM pg_stat_activity
WHERE pid <> pg_backend_pid()
