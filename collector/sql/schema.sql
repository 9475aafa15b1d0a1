-- Returns the first migration that the collector needs and does not find, or null.
-- It asks the catalog and not the tables, so that the question itself cannot fail.
SELECT CASE
    WHEN EXISTS (SELECT FROM unnest(ARRAY['accounts', 'tokens', 'jobs']) AS t
                 WHERE to_regclass(t) IS NULL)
        THEN '000001_init.up.sql'
    WHEN NOT EXISTS (SELECT FROM pg_attribute
                     WHERE attrelid = to_regclass('tokens') AND attname = 'xid'
                       AND NOT attisdropped AND atttypid = to_regtype('xid8'))
        THEN '000004_commit_safe_cursor.up.sql'
    WHEN to_regclass('dead_letters') IS NULL
        THEN '000005_dead_letters.up.sql'
    WHEN to_regproc('mailroom_cluster') IS NULL
        THEN '000012_home_cluster.up.sql'
    WHEN to_regclass('cursors') IS NULL OR to_regclass('deliveries') IS NULL
        OR NOT EXISTS (SELECT FROM pg_index AS i
                       WHERE i.indrelid = to_regclass('tokens') AND i.indisvalid
                         AND pg_get_indexdef(i.indexrelid) LIKE '%(action, xid, id)%')
        THEN '000016_snapshot_cursor.up.sql'
    WHEN to_regproc('mailroom_bell') IS NULL
        THEN '000017_doorbell.up.sql'
    -- mailroom_take calls it, but only with a budget. If it is missing, a collector with a budget
    -- fails at the first token, again and again.
    WHEN to_regproc('mailroom_spend') IS NULL
        THEN '000019_outcome.up.sql'
    WHEN to_regproc('mailroom_take') IS NULL
        THEN '000021_protocol.up.sql'
END AS missing
