SELECT
    (SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()),
    pg_current_wal_lsn() - '0/0'::pg_lsn,
    pg_notification_queue_usage(),
    (SELECT coalesce(sum(n_dead_tup), 0) FROM pg_stat_user_tables),
    (SELECT coalesce(max(age(backend_xmin)), 0) FROM pg_stat_activity
     WHERE pid <> pg_backend_pid()),
    pg_database_size(current_database())
