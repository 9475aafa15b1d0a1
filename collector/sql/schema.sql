-- The first migration that the collector needs and does not find, or null.
-- The catalog is asked, not the tables, so that the question itself cannot fail.
SELECT CASE
    WHEN EXISTS (SELECT FROM unnest(ARRAY['accounts', 'tokens', 'jobs']) AS t
                 WHERE to_regclass(t) IS NULL)
        THEN '000001_init.up.sql'
    WHEN EXISTS (SELECT FROM (VALUES ('tokens', 'xid', 'xid8'), ('jobs', 'last_xid', 'xid8'),
                                     ('jobs', 'epoch', 'int8')) AS v (tab, col, type)
                 LEFT JOIN pg_attribute AS a
                     ON a.attrelid = to_regclass(v.tab) AND a.attname = v.col
                         AND NOT a.attisdropped AND a.atttypid = to_regtype(v.type)
                 WHERE a.attname IS NULL)
        OR NOT EXISTS (SELECT FROM pg_index AS i
                       WHERE i.indrelid = to_regclass('tokens') AND i.indisvalid
                         AND pg_get_indexdef(i.indexrelid) LIKE '%(xid, id)%')
        THEN '000004_commit_safe_cursor.up.sql'
    WHEN to_regclass('dead_letters') IS NULL
        THEN '000005_dead_letters.up.sql'
    WHEN NOT EXISTS (SELECT FROM pg_attribute
                     WHERE attrelid = to_regclass('jobs') AND attname = 'holder'
                       AND NOT attisdropped)
        THEN '000010_queue_holder.up.sql'
    WHEN to_regproc('mailroom_horizon_holder') IS NULL
        THEN '000011_horizon_holder.up.sql'
    WHEN to_regproc('mailroom_restamp') IS NULL
        THEN '000012_home_cluster.up.sql'
    WHEN to_regproc('mailroom_switch_mode') IS NULL
        THEN '000013_skip_locked.up.sql'
END AS missing
