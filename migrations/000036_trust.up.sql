-- Mends: what the queue takes for granted was neither asked nor enforced.
--
-- * A token's number was whatever an INSERT said, so a row that was copied with all its columns was
--   passed over. It is now always that of the transaction that inserts.
-- * A database that is not UTF8 has accounts that no line can carry, and names that look like control
--   characters. Such a database is refused.
-- * Where others may create objects in this schema, their functions and operators are called with the
--   rights of whoever inserts a token, or of the owner of the functions. Such a schema is refused.
-- * A cancelled insert kept the bell's lock for the life of its session: the test of the lock and its
--   release were two statements.
-- * A collector of leased mode read the mode before it took the queue's lock, and looked at the name of
--   the cluster, which copies share. And it made the partitions of attempts, which waited behind any
--   dump while all answers waited behind it. mailroom_forget makes them now, and waits for nobody.

BEGIN;

DO $$
DECLARE
    others text;
BEGIN
    IF getdatabaseencoding() <> 'UTF8' THEN
        RAISE feature_not_supported USING
            MESSAGE = format('the database %s has the encoding %s; it must be UTF8', current_database(), getdatabaseencoding()),
            HINT = format('createdb -T template0 -E UTF8 NAME && pg_dump %I | psql NAME', current_database());
    END IF;
    SELECT string_agg(DISTINCT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(a.grantee::regrole::text) END, ', ')
    INTO others
    FROM pg_namespace AS n, aclexplode(n.nspacl) AS a
    WHERE n.nspname = current_schema() AND a.privilege_type = 'CREATE' AND a.grantee <> n.nspowner
      AND a.grantee <> current_user::regrole
      AND NOT EXISTS (SELECT FROM pg_roles AS r WHERE r.oid = a.grantee AND r.rolsuper);
    IF others IS NOT NULL THEN
        RAISE insufficient_privilege USING
            MESSAGE = format('%s may create objects in the schema %I, and so act with the rights of others', others, current_schema()),
            HINT = format('REVOKE CREATE ON SCHEMA %I FROM %s', current_schema(), others);
    END IF;
END
$$;

CREATE OR REPLACE PROCEDURE pg_temp.make(statement text) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE regexp_replace(statement, '\mhere\.(?=[a-z%])', quote_ident(current_schema()) || '.', 'g');
END
$$;

CALL pg_temp.make($make$
CREATE FUNCTION here.token_numbered() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    NEW.xid := pg_current_xact_id();
    RETURN NEW;
END
$$
$make$);
CREATE TRIGGER token_numbered BEFORE INSERT ON tokens FOR EACH ROW
    WHEN (NEW.xid IS DISTINCT FROM pg_current_xact_id()) EXECUTE FUNCTION token_numbered();
ALTER TABLE tokens ENABLE ALWAYS TRIGGER token_numbered; -- for logical replication, too

CALL pg_temp.make($make$
CREATE OR REPLACE FUNCTION here.token_rings() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF current_setting('mailroom.announce', true) = 'never' THEN
        RETURN NULL;
    END IF;
    -- One expression takes the lock and releases it, because no cancel is served within it.
    IF NOT (CASE WHEN pg_try_advisory_lock_shared(TG_ARGV[0]::bigint)
                 THEN pg_advisory_unlock_shared(TG_ARGV[0]::bigint) ELSE false END) THEN
        PERFORM pg_notify('token_insert', NEW.id::text);
    END IF;
    RETURN NULL;
END
$$
$make$);

-- Makes the partitions of attempts for the next days. They can be attached only while nobody reads
-- attempts_rest, so a dump is not waited for: another call makes what is missing.
CALL pg_temp.make($make$
CREATE OR REPLACE FUNCTION here.mailroom_partitions() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '100ms' AS $$
DECLARE
    day date;
    name text;
BEGIN
    PERFORM pg_advisory_xact_lock(here.mailroom_lock_key('', 'partitions'));
    FOR day IN SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date + g FROM generate_series(0, 7) AS g LOOP
        name := 'attempts_' || to_char(day, 'YYYYMMDD');
        CONTINUE WHEN EXISTS (SELECT FROM pg_class AS c JOIN pg_inherits AS i ON i.inhrelid = c.oid
                              WHERE i.inhparent = 'here.attempts'::regclass AND c.relname = name);
        BEGIN
            EXECUTE format('CREATE TABLE here.%I (LIKE here.attempts INCLUDING ALL)', name);
            EXECUTE format('ALTER TABLE here.attempts ATTACH PARTITION here.%I FOR VALUES FROM (%L) TO (%L)',
                name, day::timestamp AT TIME ZONE 'UTC', (day + 1)::timestamp AT TIME ZONE 'UTC');
        EXCEPTION
            WHEN check_violation THEN NULL; -- this day has begun without it, and stays in attempts_rest
            WHEN lock_not_available THEN RETURN;
        END;
    END LOOP;
END
$$
$make$);
REVOKE EXECUTE ON FUNCTION mailroom_partitions() FROM mailroom_collector;

CALL pg_temp.make($make$
CREATE OR REPLACE FUNCTION here.mailroom_forget(older interval) RETURNS int
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '200ms' AS $$
DECLARE
    before timestamptz := clock_timestamp() - older;
    part regclass;
    dropped int := 0;
BEGIN
    IF older < interval '0' THEN
        RAISE invalid_parameter_value USING MESSAGE = 'the age must not be negative';
    END IF;
    PERFORM here.mailroom_partitions();
    FOR part IN
        SELECT i.inhrelid::regclass FROM pg_inherits AS i
        WHERE i.inhparent = 'here.attempts'::regclass
          AND (substring(i.inhrelid::regclass::text FROM 'attempts_(\d{8})$')::date + 1)::timestamp
              AT TIME ZONE 'UTC' <= before
    LOOP
        EXECUTE format('DROP TABLE %s', part);
        dropped := dropped + 1;
    END LOOP;
    DELETE FROM here.attempts_rest WHERE ended < before;
    DELETE FROM here.runs WHERE at < before;
    RETURN dropped;
END
$$
$make$);

CALL pg_temp.make($make$
CREATE OR REPLACE FUNCTION here.mailroom_join(queue text, owner bigint, known bigint[], host text, version text,
    settings text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET row_security = off AS $$
#variable_conflict use_variable
DECLARE
    job here.jobs;
BEGIN
    -- First the locks, then the look at what they protect.
    IF NOT pg_try_advisory_lock_shared(here.mailroom_lock_key(queue, 'queue')) OR
       NOT pg_try_advisory_lock(here.mailroom_lock_key(queue, owner::text)) THEN
        RETURN 'locked';
    END IF;
    IF here.mailroom_moved(queue) THEN
        PERFORM here.mailroom_settle(queue, 'leased');
    END IF;
    SELECT * INTO job FROM here.jobs AS j WHERE j.job_type::text = queue;
    IF NOT FOUND THEN
        RETURN 'unknown';
    END IF;
    IF job.mode <> 'leased' THEN
        RETURN job.mode;
    END IF;
    IF here.mailroom_bell() IS NOT NULL THEN
        RETURN 'bell';
    END IF;
    INSERT INTO here.owners AS o (queue, owner) VALUES (job.job_type, owner) ON CONFLICT DO NOTHING;
    PERFORM here.mailroom_free_lines(job.job_type, owner, known, 'its answer got lost');
    IF host IS NOT NULL THEN
        INSERT INTO here.runs (run, event, queue, host, version, settings)
        VALUES (owner, 'started', job.job_type, host, version, settings);
    END IF;
    RETURN NULL;
END
$$
$make$);
REVOKE EXECUTE ON FUNCTION token_numbered() FROM public;

COMMIT;
