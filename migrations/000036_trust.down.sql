BEGIN;

DROP TRIGGER token_numbered ON tokens;
DROP FUNCTION token_numbered();

CREATE OR REPLACE FUNCTION token_rings()
 RETURNS trigger
 LANGUAGE plpgsql
AS $$
BEGIN
    IF current_setting('mailroom.announce', true) = 'never' THEN
        RETURN NULL;
    END IF;
    IF pg_try_advisory_lock_shared(TG_ARGV[0]::bigint) THEN
        PERFORM pg_advisory_unlock_shared(TG_ARGV[0]::bigint);
    ELSE
        PERFORM pg_notify('token_insert', NEW.id::text);
    END IF;
    RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION mailroom_partitions()
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
AS $$
DECLARE
    day date;
    name text;
BEGIN
    PERFORM pg_advisory_xact_lock(mailroom_lock_key('', 'partitions'));
    FOR day IN SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date + g FROM generate_series(0, 7) AS g
    LOOP
        name := 'attempts_' || to_char(day, 'YYYYMMDD');
        CONTINUE WHEN to_regclass(name) IS NOT NULL;
        BEGIN
            EXECUTE format('CREATE TABLE %s.%I PARTITION OF attempts FOR VALUES FROM (%L) TO (%L)',
                (SELECT relnamespace::regnamespace FROM pg_class WHERE oid = 'attempts'::regclass),
                name, day::timestamp AT TIME ZONE 'UTC', (day + 1)::timestamp AT TIME ZONE 'UTC');
        EXCEPTION WHEN check_violation THEN
            NULL; -- this day has begun without it, and stays in attempts_rest
        END;
    END LOOP;
END
$$;

CREATE OR REPLACE FUNCTION mailroom_forget(older interval)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET lock_timeout TO '200ms'
AS $$
DECLARE
    before timestamptz := clock_timestamp() - older;
    part regclass;
    dropped int := 0;
BEGIN
    IF older < interval '0' THEN
        RAISE invalid_parameter_value USING MESSAGE = 'the age must not be negative';
    END IF;
    FOR part IN
        SELECT inhrelid::regclass FROM pg_inherits
        WHERE inhparent = 'attempts'::regclass
          AND (substring(inhrelid::regclass::text FROM 'attempts_(\d{8})$')::date + 1)::timestamp
              AT TIME ZONE 'UTC' <= before
    LOOP
        EXECUTE format('DROP TABLE %s', part);
        dropped := dropped + 1;
    END LOOP;
    DELETE FROM attempts_rest WHERE ended < before;
    DELETE FROM runs WHERE at < before;
    RETURN dropped;
END
$$;

CREATE OR REPLACE FUNCTION mailroom_join(queue text, owner bigint, known bigint[], host text, version text, settings text)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
AS $$
#variable_conflict use_variable
DECLARE
    job jobs;
BEGIN
    SELECT * INTO job FROM jobs AS j WHERE j.job_type::text = queue;
    IF NOT FOUND THEN
        RETURN 'unknown';
    END IF;
    IF job.mode IS NULL OR job.cluster IS DISTINCT FROM mailroom_cluster() THEN
        PERFORM mailroom_settle(queue, 'leased');
        SELECT * INTO job FROM jobs AS j WHERE j.job_type::text = queue;
    END IF;
    IF job.mode <> 'leased' THEN
        RETURN job.mode;
    END IF;
    IF mailroom_bell() IS NOT NULL THEN
        RETURN 'bell';
    END IF;
    -- First the locks, then the look at what is ours.
    IF NOT pg_try_advisory_lock_shared(mailroom_lock_key(queue, 'queue')) OR
       NOT pg_try_advisory_lock(mailroom_lock_key(queue, owner::text)) THEN
        RETURN 'locked';
    END IF;
    INSERT INTO owners AS o (queue, owner) VALUES (job.job_type, owner) ON CONFLICT DO NOTHING;
    PERFORM mailroom_free_lines(job.job_type, owner, known, 'its answer got lost');
    IF host IS NOT NULL THEN
        INSERT INTO runs (run, event, queue, host, version, settings)
        VALUES (owner, 'started', job.job_type, host, version, settings);
    END IF;
    PERFORM mailroom_partitions();
    RETURN NULL;
END
$$;

GRANT EXECUTE ON FUNCTION mailroom_partitions() TO mailroom_collector;
DO $$
DECLARE
    f text;
BEGIN
    FOREACH f IN ARRAY ARRAY['token_rings()', 'mailroom_partitions()', 'mailroom_forget(interval)',
        'mailroom_join(text, bigint, bigint[], text, text, text)']
    LOOP
        EXECUTE format('ALTER FUNCTION %s SET search_path = pg_catalog, %I, pg_temp', f, current_schema());
    END LOOP;
END
$$;

COMMIT;
