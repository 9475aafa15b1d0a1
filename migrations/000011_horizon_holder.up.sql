-- Mends: one forgotten transaction holds all later tokens back, and the
-- collector's role may not see whose it is.
--
-- This function runs with the rights of the role that applies the migration,
-- which should be a superuser or a member of pg_read_all_stats. It shows one
-- row and no query text: the oldest of the transactions that have a number,
-- which is where the horizon stands, prepared ones included.

BEGIN;

CREATE FUNCTION mailroom_horizon_holder(
    OUT pid int, OUT prepared text, OUT application text, OUT database text, OUT since timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT h.pid, h.prepared, h.application, h.database, h.since
    FROM (SELECT a.pid, NULL AS prepared, a.application_name AS application,
                 a.datname AS database, a.xact_start AS since, a.backend_xid AS xid
          FROM pg_stat_activity AS a
          WHERE a.backend_xid IS NOT NULL AND a.pid <> pg_backend_pid()
          UNION ALL
          SELECT NULL, p.gid, NULL, p.database, p.prepared, p.transaction
          FROM pg_prepared_xacts AS p) AS h
    ORDER BY age(h.xid) DESC
    LIMIT 1
$$;
REVOKE EXECUTE ON FUNCTION mailroom_horizon_holder() FROM public;
GRANT EXECUTE ON FUNCTION mailroom_horizon_holder() TO mailroom_collector;

COMMIT;
