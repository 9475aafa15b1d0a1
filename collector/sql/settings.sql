-- Settings of the session; those that this server's version lacks are left out.
--
-- The planner's switches make every read the same walk along an index whatever
-- the statistics say, so that the cost of a batch cannot depend on history or
-- backlog. The TCP timers let the server notice that this client is gone.
-- synchronous_commit stays what the server's owner chose.
SELECT set_config(name, v.value, false)
FROM (VALUES
    ('enable_seqscan', 'off'),
    ('enable_bitmapscan', 'off'),
    ('enable_hashjoin', 'off'),
    ('enable_mergejoin', 'off'),
    ('enable_memoize', 'off'),
    ('jit', 'off'),
    ('max_parallel_workers_per_gather', '0'),
    ('plan_cache_mode', 'force_generic_plan'),
    ('row_security', 'off'),
    ('default_transaction_isolation', 'read committed'),
    ('default_transaction_read_only', 'off'),
    ('statement_timeout', '4s'),
    ('idle_session_timeout', '0'),
    ('tcp_keepalives_idle', '10'),
    ('tcp_keepalives_interval', '2'),
    ('tcp_keepalives_count', '3'),
    ('tcp_user_timeout', '10s')
) AS v (name, value)
JOIN pg_settings USING (name)
