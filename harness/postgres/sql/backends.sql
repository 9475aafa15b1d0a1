-- Every session, with what it waits for. A session whose transaction is open has the name of that
-- transaction, and whether something in the server holds it up; the last column says whether our
-- rights show this. A prepared transaction has a row with pid 0.
SELECT
    pid,
    coalesce(usename, ''),
    CASE WHEN state = 'active' THEN coalesce(wait_event_type || ':' || wait_event, 'running') ELSE '' END,
    coalesce(pid || ' ' || extract(epoch FROM backend_start) || ' ' || extract(epoch FROM xact_start), ''),
    (state = 'active' AND coalesce(wait_event_type, '') NOT IN ('', 'Client', 'Timeout', 'Activity'))::int,
    (state IS NOT NULL)::int
FROM pg_stat_activity
WHERE pid <> pg_backend_pid()
UNION ALL
SELECT 0, owner, '', gid || ' ' || extract(epoch FROM prepared), 0, 1
FROM pg_prepared_xacts
