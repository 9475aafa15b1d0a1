-- The schema as all migrations leave it. ci/schema wrote this with PostgreSQL 15;
-- pg_dump leaves out the roles mailroom_collector and mailroom_owner, which 000009 and 000023 make.

CREATE EXTENSION IF NOT EXISTS pgcrypto WITH SCHEMA public;

COMMENT ON EXTENSION pgcrypto IS 'cryptographic functions, created by mailroom 000001';

CREATE TYPE public.account_status AS ENUM (
    'provisioned',
    'active',
    'suspended'
);

CREATE TYPE public.job_type AS ENUM (
    'mailroom'
);

CREATE TYPE public.token_action AS ENUM (
    'activation',
    'password_recovery'
);

CREATE TYPE public.mailroom_token AS (
	lane integer,
	part integer,
	xid xid8,
	id bigint,
	action public.token_action,
	account bigint,
	email character varying,
	login character varying,
	secret bytea,
	code character varying,
	number integer,
	errors integer,
	paid boolean,
	passed text,
	dead boolean
);

CREATE FUNCTION public.account_change_status() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    epoch bigint := extract(epoch FROM now());
BEGIN
    NEW.status_changed_at := epoch;
    IF NEW.status = 'suspended' THEN
        NEW.suspended_at := epoch;
        NEW.unsuspended_at := NULL;
    ELSIF OLD.status = 'suspended' AND NEW.status = 'active' THEN
        NEW.unsuspended_at := epoch;
        NEW.suspended_at := NULL;
        IF NEW.activated_at IS NULL THEN
            NEW.status := 'provisioned';
        END IF;
    ELSIF OLD.status = 'provisioned' AND NEW.status = 'active' THEN
        NEW.activated_at := epoch;
    END IF;
    RETURN NEW;
END
$$;

CREATE FUNCTION public.account_check_sendable() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    unsendable CONSTANT text := '[,"\u0001-\u001f\u007f-\u009f]';
    bad text;
BEGIN
    -- OLD is all null on an insert.
    IF NEW.email IS DISTINCT FROM OLD.email AND NEW.email ~ unsendable THEN
        bad := 'email';
    ELSIF NEW.login IS DISTINCT FROM OLD.login AND NEW.login ~ unsendable THEN
        bad := 'login';
    ELSE
        RETURN NEW;
    END IF;
    RAISE EXCEPTION USING
        ERRCODE = 'check_violation',
        MESSAGE = bad || ' must not contain a comma, a double quote or a control character',
        DETAIL = 'The line that the mail sender reads has no quoting.',
        SCHEMA = TG_TABLE_SCHEMA,
        TABLE = TG_TABLE_NAME,
        COLUMN = bad,
        CONSTRAINT = TG_NAME;
END
$$;

CREATE FUNCTION public.account_provision() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    INSERT INTO tokens (action, account) VALUES ('activation', NEW.id);
    RETURN NEW;
END
$$;

CREATE FUNCTION public.mailroom_announce(how text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF how NOT IN ('each', 'bell', 'never') THEN
        RAISE invalid_parameter_value USING MESSAGE = format('%L is not each, bell or never', how);
    END IF;
    EXECUTE format('ALTER TABLE tokens %s TRIGGER token_inserted',
        CASE how WHEN 'each' THEN 'ENABLE' ELSE 'DISABLE' END);
    EXECUTE format('ALTER TABLE tokens %s TRIGGER token_rings',
        CASE how WHEN 'bell' THEN 'ENABLE' ELSE 'DISABLE' END);
    PERFORM pg_notify('token_insert', 'announce ' || how);
END
$$;

CREATE FUNCTION public.mailroom_behind(actions public.token_action[], seen pg_snapshot, tick pg_snapshot, xid xid8, id bigint, now pg_snapshot, clock bigint) RETURNS TABLE(part integer, xid xid8, id bigint, action public.token_action, account bigint, email character varying, login character varying, secret bytea, code character varying, created_at bigint, passed text)
    LANGUAGE sql STABLE
    AS $_$
    SELECT p.part, t.xid, t.id, t.action, t.account, a.email, a.login,
           -- A secret of another length is not sent, and may be very long.
           CASE WHEN octet_length(t.secret) = 32 THEN t.secret END, t.code, t.created_at,
           CASE
               WHEN t.consumed_at IS NOT NULL THEN 'consumed'
               WHEN t.expires_at <= $7 THEN 'expired'
               WHEN t.action = 'activation' AND a.status = 'provisioned' THEN NULL
               WHEN t.action = 'password_recovery' AND a.status = 'active' THEN NULL
               ELSE 'the account is ' || coalesce(a.status::text, 'gone')
           END
    FROM (VALUES (1, $2, $3, $4, $5), (2, $3, $6, '0'::xid8, 0::bigint))
        AS p (part, a, b, xid, id)
    CROSS JOIN LATERAL (
        SELECT pg_snapshot_xmax(p.a), pg_snapshot_xmax(p.b)
        WHERE pg_snapshot_xmin(p.a) = pg_snapshot_xmax(p.a)
          AND pg_snapshot_xmin(p.b) = pg_snapshot_xmax(p.b)
        UNION ALL
        SELECT e.from_xid, e.to_xid FROM public.mailroom_ended(p.a, p.b) AS e
        WHERE NOT (pg_snapshot_xmin(p.a) = pg_snapshot_xmax(p.a)
                   AND pg_snapshot_xmin(p.b) = pg_snapshot_xmax(p.b))
    ) AS s (from_xid, to_xid)
    CROSS JOIN LATERAL (
        -- Both branches have their columns in the same order and an ORDER BY of their own, so the
        -- rows of the two actions are merged one by one without a sort.
        (SELECT x.xid, x.id, x.action, x.account, x.secret, x.code, x.consumed_at, x.expires_at,
                x.created_at
         FROM public.tokens AS x
         WHERE x.action = $1[1]
           AND (x.xid, x.id) > (greatest(s.from_xid, p.xid),
                CASE WHEN s.from_xid > p.xid THEN -9223372036854775808 ELSE p.id END)
           AND x.xid < s.to_xid
         ORDER BY x.xid, x.id)
        UNION ALL
        (SELECT x.xid, x.id, x.action, x.account, x.secret, x.code, x.consumed_at, x.expires_at,
                x.created_at
         FROM public.tokens AS x
         WHERE x.action = $1[2] -- null in a lane of one action
           AND (x.xid, x.id) > (greatest(s.from_xid, p.xid),
                CASE WHEN s.from_xid > p.xid THEN -9223372036854775808 ELSE p.id END)
           AND x.xid < s.to_xid
         ORDER BY x.xid, x.id)
        ORDER BY xid, id) AS t
    -- One look at the index for each token. A join might walk all accounts where there are no
    -- statistics yet.
    LEFT JOIN LATERAL (SELECT x.email, x.login, x.status FROM public.accounts AS x
        WHERE x.id = t.account
                       LIMIT 1) AS a ON true
$_$;

CREATE FUNCTION public.mailroom_bell() RETURNS bigint
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
    SELECT convert_from(substring(tgargs FROM 1 FOR length(tgargs) - 1), 'UTF8')::bigint
    FROM pg_trigger
    WHERE tgrelid = 'tokens'::regclass AND tgname = 'token_rings' AND tgenabled <> 'D'
$$;

CREATE FUNCTION public.mailroom_bury(token bigint, reason text) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    t bigint := token;
    d deliveries;
    at int;
BEGIN
    SELECT * INTO d FROM deliveries AS x WHERE x.owner = 0 AND t = ANY (x.tokens) FOR UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    at := array_position(d.tokens, t);
    INSERT INTO attempts (token, number, run, outcome, text)
    VALUES (t, coalesce(d.numbers[at], 1), 0, 'dead', 'buried by hand: ' || reason);
    INSERT INTO dead_letters (token, account, action, reason)
    SELECT id, account, action, 'buried by hand: ' || reason FROM tokens WHERE id = t;
    IF cardinality(d.tokens) = 1 THEN
        DELETE FROM deliveries AS x WHERE x.n = d.n;
    ELSE
        UPDATE deliveries AS x SET tokens = d.tokens[:at - 1] || d.tokens[at + 1:],
            numbers = d.numbers[:at - 1] || d.numbers[at + 1:],
            errors = d.errors[:at - 1] || d.errors[at + 1:]
        WHERE x.n = d.n;
    END IF;
    RETURN true;
END
$$;

CREATE FUNCTION public.mailroom_clamp(now pg_snapshot, own xid8) RETURNS pg_snapshot
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT format('%s:%s:%s', least(pg_snapshot_xmin(now), own), pg_snapshot_xmax(now),
               string_agg(x::text, ',' ORDER BY x)
                   FILTER (WHERE x < pg_snapshot_xmax(now)))::pg_snapshot
    FROM (SELECT pg_snapshot_xip(now) UNION SELECT own) AS running (x)
$$;

CREATE FUNCTION public.mailroom_cluster() RETURNS text
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT c.system_identifier || '/' || d.oid
    FROM pg_control_system() AS c, pg_database AS d
    WHERE d.datname = current_database()
$$;

CREATE FUNCTION public.mailroom_ended(a pg_snapshot, b pg_snapshot) RETURNS TABLE(from_xid xid8, to_xid xid8)
    LANGUAGE plpgsql STABLE ROWS 10
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    RETURN QUERY
    SELECT x, (x::text::bigint + 1)::text::xid8 FROM pg_snapshot_xip(a) AS x
    WHERE pg_visible_in_snapshot(x, b)
    UNION ALL
    SELECT x, coalesce((SELECT y FROM pg_snapshot_xip(b) AS y WHERE y >= x ORDER BY y LIMIT 1),
        pg_snapshot_xmax(b))
    FROM (SELECT pg_snapshot_xmax(a)
          UNION ALL
          SELECT (y::text::bigint + 1)::text::xid8 FROM pg_snapshot_xip(b) AS y
          WHERE y >= pg_snapshot_xmax(a)) AS begins (x)
    ORDER BY 1;
END
$$;

CREATE FUNCTION public.mailroom_examine(q public.job_type, first_lane integer, room integer, most integer, INOUT list public.mailroom_token[], OUT ids bigint[], OUT n integer, OUT ended boolean, OUT tick pg_snapshot) RETURNS record
    LANGUAGE plpgsql
    AS $$
DECLARE
    given public.mailroom_token[] := list;
    given_n int := 0;
    size int;
    suspect bool;
    clock bigint := floor(extract(epoch FROM clock_timestamp()));
BEGIN
    IF cardinality(given) > 0 THEN
        given_n := (SELECT count(*) FROM unnest(given) AS t WHERE t.passed IS NULL);
    END IF;
    size := least(room - given_n, most);
    n := given_n;
    ended := false;
    WHILE size > 0 LOOP
        SELECT coalesce(array_agg(ROW(w.lane, w.part, w.xid, w.id, w.action, w.account, w.email,
                   w.login, w.secret, w.code, 1, 0, false, w.passed, false)::public.mailroom_token),
                   '{}'),
               array_agg(w.id), given_n + count(*) FILTER (WHERE w.passed IS NULL),
               count(*) < size,
               public.mailroom_now(),
               public.mailroom_suspect(string_agg(w.email || w.login, ''), string_agg(w.code, ''))
                   OR bool_or(w.secret IS NULL OR w.code IS NULL OR octet_length(w.code) <> 5)
        INTO list, ids, n, ended, tick, suspect
        FROM (SELECT * FROM public.mailroom_walk(q, first_lane, NULL, clock) LIMIT size) AS w;
        IF suspect THEN
            SELECT array_agg(ROW(t.lane, t.part, t.xid, t.id, t.action, t.account, t.email, t.login,
                       t.secret, t.code, 1, 0, false, coalesce(t.passed, u.why),
                       t.passed IS NULL AND u.why IS NOT NULL)::public.mailroom_token),
                   given_n + count(*) FILTER (WHERE t.passed IS NULL AND u.why IS NULL)
            INTO list, n
            FROM unnest(list) AS t,
                 public.mailroom_unsendable(t.action, t.email, t.login, t.secret, t.code) AS u (why);
        END IF;
        IF cardinality(given) > 0 THEN
            list := given || list;
        END IF;
        EXIT WHEN n >= room OR ended OR size >= most;
        size := least(4 * size + 100, most);
    END LOOP;
    IF n >= room THEN
        IF cardinality(list) > room THEN
            list := list[: public.mailroom_place(list, room)];
        END IF;
        n := room;
        ended := false;
    END IF;
END
$$;

CREATE FUNCTION public.mailroom_forget(older interval) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '200ms'
    AS $_$
DECLARE
    before timestamptz := clock_timestamp() - older;
    part regclass;
    dropped int := 0;
BEGIN
    IF older < interval '0' THEN
        RAISE invalid_parameter_value USING MESSAGE = 'the age must not be negative';
    END IF;
    PERFORM public.mailroom_partitions();
    FOR part IN
        SELECT i.inhrelid::regclass FROM pg_inherits AS i
        WHERE i.inhparent = 'public.attempts'::regclass
          AND (substring(i.inhrelid::regclass::text FROM 'attempts_(\d{8})$')::date + 1)::timestamp
              AT TIME ZONE 'UTC' <= before
    LOOP
        EXECUTE format('DROP TABLE %s', part);
        dropped := dropped + 1;
    END LOOP;
    DELETE FROM public.attempts_rest WHERE ended < before;
    DELETE FROM public.runs WHERE at < before;
    RETURN dropped;
END
$_$;

CREATE FUNCTION public.mailroom_forget_tokens(older interval) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    before bigint := extract(epoch FROM clock_timestamp() - older);
    now_ bigint := mailroom_partition_now();
    p record;
    youngest bigint;
    dropped int := 0;
BEGIN
    IF older < interval '0' THEN
        RAISE invalid_parameter_value USING MESSAGE = 'the age must not be negative';
    END IF;
    IF NOT mailroom_is_partitioned() THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = 'tokens has no partitions',
            HINT = 'CALL mailroom_partition() gives it some.';
    END IF;
    FOR p IN SELECT * FROM mailroom_token_partitions() LOOP
        EXIT WHEN p.number >= now_;
        EXECUTE format('SELECT created_at FROM %s ORDER BY id DESC LIMIT 1', p.part) INTO youngest;
        EXIT WHEN youngest > before OR mailroom_partition_waits(p.part, p.number);
        PERFORM mailroom_lock_tables(format('ONLY tokens, %s', p.part), 'ACCESS EXCLUSIVE');
        -- Whoever was about to insert into it has done so.
        EXIT WHEN mailroom_partition_waits(p.part, p.number);
        EXECUTE format('DROP TABLE %s', p.part);
        dropped := dropped + 1;
    END LOOP;
    RETURN dropped;
END
$$;

CREATE FUNCTION public.mailroom_is_partitioned() RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$ SELECT relkind = 'p' FROM pg_class WHERE oid = 'tokens'::regclass $$;

CREATE FUNCTION public.mailroom_lanes(lanes text, queue text DEFAULT 'mailroom'::text) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    q public.job_type := queue::public.job_type;
    every public.token_action[] := enum_range(NULL::public.token_action);
    wanted text[] := CASE WHEN lanes = '' THEN '{}' ELSE string_to_array(lanes, ',') END;
    before int;
    unused bool := false;
BEGIN
    IF cardinality(wanted) > 0 AND
       ARRAY(SELECT w FROM unnest(wanted) AS w ORDER BY w) <>
       ARRAY(SELECT a::text FROM unnest(every) AS a ORDER BY a::text) THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format(
                'the lanes are ''%s''; allowed is each of %s once, comma-joined, or nothing',
                lanes, array_to_string(every, ', '));
    END IF;
    -- A queue that nobody has used yet keeps its older cursor until the first collector comes.
    -- Until then its rows of cursors tell the lanes and nothing else.
    IF (SELECT mode IS NULL FROM public.jobs WHERE job_type = q) THEN
        unused := pg_try_advisory_xact_lock(public.mailroom_lock_key(queue, 'queue'));
        PERFORM FROM public.jobs WHERE job_type = q AND mode IS NULL FOR UPDATE;
        unused := unused AND FOUND;
    END IF;
    -- The row of jobs of an unused queue tells when the database was restored, and must stay as it
    -- is.
    IF NOT unused THEN
        PERFORM public.mailroom_settle(queue, 'leased');
        UPDATE public.jobs SET epoch = epoch + 1, holder = NULL WHERE job_type = q;
    END IF;
    -- Here the lock of the queue is ours alone: no collector runs.
    SELECT count(*) INTO before FROM public.cursors AS c WHERE c.queue = q;
    IF cardinality(wanted) > 0 THEN
        WITH old AS (
            DELETE FROM public.cursors AS c WHERE c.queue = q RETURNING *
        )
        INSERT INTO public.cursors (queue, lane, n, actions, seen, tick, xid, id, written)
        SELECT q, w.at, max(o.n) OVER () + 1, ARRAY[w.action]::public.token_action[], o.seen, o.tick,
               o.xid, o.id, pg_current_xact_id()
        FROM unnest(wanted) WITH ORDINALITY AS w (action, at)
        JOIN old AS o ON w.action::public.token_action = ANY (o.actions);
    ELSIF before > 1 AND unused THEN
        DELETE FROM public.cursors AS c WHERE c.queue = q AND c.lane > 1;
        UPDATE public.cursors AS c
            SET n = c.n + 1, actions = every, written = pg_current_xact_id() WHERE c.queue = q;
    ELSIF before > 1 THEN
        -- This transaction's own tokens, of before or to come, are not taken: its
        -- number counts as running.
        PERFORM pg_current_xact_id();
        WITH at AS MATERIALIZED (
            SELECT pg_current_xact_id() AS own, pg_current_snapshot() AS now
        ), waits AS MATERIALIZED (
            SELECT u.token, row_number() OVER (ORDER BY u.xid, u.token) AS at
            FROM public.mailroom_untaken(queue) AS u, at WHERE u.xid <> at.own
        ), given AS (
            INSERT INTO public.deliveries (queue, owner, tokens)
            SELECT q, 0, array_agg(w.token ORDER BY w.at) FROM waits AS w GROUP BY w.at / 100
            ORDER BY w.at / 100
        ), place AS (
            SELECT public.mailroom_clamp(h.now, h.own) AS seen
            FROM at AS h
        ), gone AS (
            DELETE FROM public.cursors AS c WHERE c.queue = q AND c.lane > 1
        )
        UPDATE public.cursors AS c
        SET n = c.n + 1, actions = every, seen = p.seen, tick = p.seen, xid = '0', id = 0,
            written = pg_current_xact_id()
        FROM place AS p WHERE c.queue = q AND c.lane = 1;
        INSERT INTO public.owners AS o (queue, owner)
        SELECT q, 0 FROM public.deliveries AS d WHERE d.queue = q AND d.owner = 0 LIMIT 1
        ON CONFLICT DO NOTHING;
    END IF;
    RETURN before;
END
$$;

CREATE FUNCTION public.mailroom_lock_key(queue text, what text) RETURNS bigint
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
    SELECT hashtextextended(format('mailroom %s %s %s', 'jobs'::regclass::oid, queue, what), 0)
$$;

CREATE FUNCTION public.mailroom_lock_tables(tables text, lock_mode text) RETURNS void
    LANGUAGE plpgsql
    SET lock_timeout TO '200ms'
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    FOR try IN 1 .. 150 LOOP
        BEGIN
            EXECUTE format('LOCK TABLE %s IN %s MODE', tables, lock_mode);
            RETURN;
        EXCEPTION WHEN lock_not_available THEN
            PERFORM pg_sleep(0.2);
        END;
    END LOOP;
    RAISE lock_not_available USING
        MESSAGE = format('%s: somebody uses them all the time', tables),
        HINT = 'A transaction that stays open does. pg_stat_activity shows it; try again later.';
END
$$;

CREATE FUNCTION public.mailroom_locks() RETURNS TABLE(key bigint, mode text)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT l.classid::bigint << 32 | l.objid::bigint, l.mode
    FROM pg_locks AS l
    JOIN pg_database AS d ON d.oid = l.database AND d.datname = current_database()
    WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted AND l.pid <> pg_backend_pid()
$$;

CREATE FUNCTION public.mailroom_moved(queue text) RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET row_security TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off'
    AS $$
    SELECT j.mode IS NULL
        OR EXISTS (SELECT
                   FROM generate_series(1,
                   cardinality(enum_range(NULL::public.token_action))) AS l (lane),
                        LATERAL (SELECT c.xmin AS row_xmin, c.written
                                 FROM public.cursors AS c WHERE c.queue = j.job_type
                                     AND c.lane = l.lane
                                 ORDER BY c.n DESC LIMIT 1) AS c
                   WHERE c.written IS NULL
                      OR c.row_xmin::text::bigint <> c.written::text::bigint & 4294967295)
        OR EXISTS (SELECT FROM unnest(enum_range(NULL::public.token_action)) AS a (action),
                        LATERAL (SELECT FROM public.tokens AS t WHERE t.action = a.action
                                   AND t.xid >= pg_snapshot_xmax(pg_current_snapshot())
                                   AND t.xid IS DISTINCT FROM pg_current_xact_id_if_assigned()
                                 LIMIT 1) AS t)
    FROM public.jobs AS j WHERE j.job_type::text = queue
$$;

CREATE FUNCTION public.mailroom_now() RETURNS pg_snapshot
    LANGUAGE sql STABLE
    AS $$
    SELECT CASE WHEN pg_visible_in_snapshot(pg_current_xact_id_if_assigned(), pg_current_snapshot())
        THEN public.mailroom_clamp(pg_current_snapshot(), pg_current_xact_id_if_assigned())
        ELSE pg_current_snapshot() END
$$;

CREATE PROCEDURE public.mailroom_partition()
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NOT mailroom_is_partitioned() THEN
        PERFORM mailroom_partition_bound();
        COMMIT;
        PERFORM mailroom_partition_validate();
        COMMIT;
        PERFORM mailroom_partition_attach();
        COMMIT;
    END IF;
    PERFORM mailroom_partition_next();
END
$$;

CREATE FUNCTION public.mailroom_partition_attach() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    n bigint := mailroom_partition_now();
    first_ text := 'tokens_' || n;
    statement text;
    statements text[];
BEGIN
    PERFORM mailroom_lock_tables('accounts, tokens', 'ACCESS EXCLUSIVE');
    statements := ARRAY(
        SELECT pg_get_indexdef(indexrelid) FROM pg_index
        WHERE indrelid = 'tokens'::regclass AND NOT indisunique
        UNION ALL
        SELECT format('ALTER TABLE tokens ADD CONSTRAINT %I %s', conname, pg_get_constraintdef(oid))
        FROM pg_constraint
        WHERE conrelid = 'tokens'::regclass AND contype IN ('c', 'f') AND conname <> 'tokens_bound'
        UNION ALL
        SELECT 'ALTER TABLE tokens ADD PRIMARY KEY (id)');
    FOR statement IN
        SELECT format('ALTER INDEX %s RENAME TO %I', indexrelid::regclass,
                   regexp_replace(relname, '^tokens_', first_ || '_'))
        FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
        WHERE indrelid = 'tokens'::regclass AND relname LIKE 'tokens\_%'
    LOOP
        EXECUTE statement;
    END LOOP;
    EXECUTE format('CREATE TABLE %s.tokens_root (LIKE tokens INCLUDING DEFAULTS INCLUDING COMMENTS)
        PARTITION BY RANGE (id)', mailroom_partition_schema());
    PERFORM mailroom_partition_exchange('tokens_root', first_);
    FOREACH statement IN ARRAY statements LOOP
        EXECUTE statement;
    END LOOP;
    EXECUTE format('ALTER TABLE tokens ATTACH PARTITION %I FOR VALUES FROM (MINVALUE) TO (%s)',
        first_, n * mailroom_partition_width());
    EXECUTE format('ALTER TABLE %I DROP CONSTRAINT tokens_bound', first_);
END
$$;

CREATE FUNCTION public.mailroom_partition_bound() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    obstacles text := mailroom_partition_obstacles();
BEGIN
    IF obstacles IS NOT NULL THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = 'these belong to the table tokens and cannot be carried over: ' || obstacles,
            HINT = 'Drop them first, and make them again afterwards.';
    END IF;
    PERFORM mailroom_lock_tables('tokens', 'ACCESS EXCLUSIVE');
    IF EXISTS (SELECT FROM pg_constraint
               WHERE conrelid = 'tokens'::regclass AND conname = 'tokens_bound') THEN
        RETURN; -- a call that was interrupted made it
    END IF;
    EXECUTE format('ALTER TABLE tokens ADD CONSTRAINT tokens_bound CHECK (id < %s) NOT VALID',
        mailroom_partition_now() * mailroom_partition_width());
END
$$;

CREATE FUNCTION public.mailroom_partition_exchange(into_ regclass, old_name text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    old oid := 'tokens'::regclass;
    hangings text[] := ARRAY(SELECT mailroom_partition_hangings());
    statement text;
BEGIN
    EXECUTE format('ALTER TABLE %s OWNER TO %s', into_,
        (SELECT relowner::regrole FROM pg_class WHERE oid = old));
    FOR statement IN
        SELECT format('DROP TRIGGER %I ON tokens', tgname) FROM pg_trigger
        WHERE tgrelid = old AND NOT tgisinternal
    LOOP
        EXECUTE statement;
    END LOOP;
    EXECUTE format('ALTER TABLE tokens RENAME TO %I', old_name);
    EXECUTE format('ALTER TABLE %s RENAME TO tokens', into_);
    ALTER SEQUENCE tokens_id_seq OWNED BY tokens.id;
    FOREACH statement IN ARRAY hangings LOOP
        EXECUTE statement;
    END LOOP;
END
$$;

CREATE FUNCTION public.mailroom_partition_hangings() RETURNS SETOF text
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
    SELECT pg_get_triggerdef(oid) FROM pg_trigger
    WHERE tgrelid = 'tokens'::regclass AND NOT tgisinternal
    UNION ALL
    SELECT format('ALTER TABLE tokens %s TRIGGER %I', CASE tgenabled
               WHEN 'D' THEN 'DISABLE' WHEN 'R' THEN 'ENABLE REPLICA'
                   ELSE 'ENABLE ALWAYS' END, tgname)
    FROM pg_trigger WHERE tgrelid = 'tokens'::regclass AND NOT tgisinternal AND tgenabled <> 'O'
    UNION ALL
    SELECT format('GRANT %s%s ON tokens TO %s%s', g.privilege_type, g.columns,
               CASE g.grantee WHEN 0 THEN 'public' ELSE g.grantee::regrole::text END,
               CASE WHEN g.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END)
    FROM (SELECT a.*, '' AS columns FROM pg_class AS c, aclexplode(c.relacl) AS a
          WHERE c.oid = 'tokens'::regclass
          UNION ALL
          SELECT a.*, format('(%I)', t.attname) FROM pg_attribute AS t, aclexplode(t.attacl) AS a
          WHERE t.attrelid = 'tokens'::regclass AND NOT t.attisdropped) AS g
    UNION ALL
    SELECT DISTINCT format('CREATE OR REPLACE VIEW %s.%I AS %s', v.relnamespace::regnamespace,
        v.relname, pg_get_viewdef(v.oid))
    FROM pg_depend AS d JOIN pg_rewrite AS r ON r.oid = d.objid
    JOIN pg_class AS v ON v.oid = r.ev_class AND v.relkind = 'v'
    WHERE d.classid = 'pg_rewrite'::regclass AND d.refobjid = 'tokens'::regclass
$$;

CREATE FUNCTION public.mailroom_partition_next() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    width bigint := mailroom_partition_width();
    now_ bigint := mailroom_partition_now();
    newest regclass;
    used bool;
BEGIN
    FOR n IN now_ + 1 .. now_ + 2 LOOP
        CONTINUE WHEN to_regclass('tokens_' || n) IS NOT NULL;
        SELECT p.part INTO newest FROM mailroom_token_partitions() AS p
        ORDER BY p.number DESC LIMIT 1;
        EXECUTE format('CREATE TABLE %s.%I (LIKE %s INCLUDING ALL) %s',
            mailroom_partition_schema(), 'tokens_' || n, newest,
            (SELECT format('WITH (%s)', array_to_string(reloptions, ', '))
                FROM pg_class WHERE oid = newest AND reloptions IS NOT NULL));
        -- The foreign key gets its triggers there.
        PERFORM mailroom_lock_tables('accounts', 'SHARE ROW EXCLUSIVE');
        EXECUTE format('ALTER TABLE tokens ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)',
            'tokens_' || n, (n - 1) * width, n * width);
    END LOOP;
    EXECUTE format('SELECT EXISTS (SELECT FROM %I)', 'tokens_' || now_) INTO used;
    IF used THEN
        PERFORM setval('tokens_id_seq', now_ * width, false);
    END IF;
END
$$;

CREATE FUNCTION public.mailroom_partition_now() RETURNS bigint
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
    SELECT (last_value + CASE WHEN is_called THEN 1 ELSE 0 END) / mailroom_partition_width() + 1
    FROM tokens_id_seq
$$;

CREATE FUNCTION public.mailroom_partition_obstacles() RETURNS text
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
    SELECT string_agg(what, ', ')
    FROM (SELECT 'the foreign key ' || conname || ' of ' || conrelid::regclass AS what
          FROM pg_constraint WHERE confrelid = 'tokens'::regclass AND conparentid = 0
          UNION ALL
          SELECT 'the publication ' || p.pubname
          FROM pg_publication_rel AS r JOIN pg_publication AS p ON p.oid = r.prpubid
          WHERE r.prrelid = 'tokens'::regclass
          UNION ALL
          SELECT 'the policy ' || polname FROM pg_policy WHERE polrelid = 'tokens'::regclass
          UNION ALL
          SELECT DISTINCT 'the materialized view ' || c.oid::regclass
          FROM pg_depend AS d JOIN pg_rewrite AS r ON r.oid = d.objid
          JOIN pg_class AS c ON c.oid = r.ev_class AND c.relkind = 'm'
          WHERE d.classid = 'pg_rewrite'::regclass AND d.refobjid = 'tokens'::regclass) AS found
$$;

CREATE FUNCTION public.mailroom_partition_schema() RETURNS regnamespace
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$ SELECT relnamespace FROM pg_class WHERE oid = 'tokens'::regclass $$;

CREATE FUNCTION public.mailroom_partition_validate() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    ALTER TABLE tokens VALIDATE CONSTRAINT tokens_bound;
END
$$;

CREATE FUNCTION public.mailroom_partition_waits(part regclass, number bigint) RETURNS boolean
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off'
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $_$
DECLARE
    waits bool;
BEGIN
    EXECUTE format('SELECT EXISTS (
        SELECT FROM jobs AS j, unnest(enum_range(NULL::token_action)) AS a (action), LATERAL (
            SELECT FROM %1$s AS t
            WHERE t.action = a.action AND (t.xid, t.id) > (j.last_xid, j.last_seq) LIMIT 1) AS found
        WHERE j.mode IS NULL
    ) OR EXISTS (
        SELECT FROM jobs AS j JOIN cursors AS c ON c.queue = j.job_type
        CROSS JOIN unnest(c.actions) AS a (action), LATERAL (
            SELECT FROM %1$s AS t
            WHERE t.action = a.action AND t.xid >= pg_snapshot_xmin(c.seen)
              AND NOT pg_visible_in_snapshot(t.xid, c.seen)
              AND NOT (pg_visible_in_snapshot(t.xid, c.tick) AND (t.xid, t.id) <= (c.xid, c.id))
            LIMIT 1) AS found
        WHERE j.mode IS NOT NULL
    ) OR EXISTS (
        SELECT FROM deliveries AS d, unnest(d.tokens) AS taken (id)
        WHERE taken.id / $1 + 1 = $2
    )', part) INTO waits USING mailroom_partition_width(), number;
    RETURN waits;
END
$_$;

CREATE FUNCTION public.mailroom_partition_width() RETURNS bigint
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$ SELECT 10000000000 $$;

CREATE FUNCTION public.mailroom_partitions() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '100ms'
    AS $$
DECLARE
    day date;
    name text;
BEGIN
    PERFORM pg_advisory_xact_lock(public.mailroom_lock_key('', 'partitions'));
    FOR day IN SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date + g
        FROM generate_series(0, 7) AS g LOOP
        name := 'attempts_' || to_char(day, 'YYYYMMDD');
        CONTINUE WHEN EXISTS (SELECT FROM pg_class AS c JOIN pg_inherits AS i ON i.inhrelid = c.oid
                              WHERE i.inhparent = 'public.attempts'::regclass AND c.relname = name);
        BEGIN
            EXECUTE format('CREATE TABLE public.%I (LIKE public.attempts INCLUDING ALL)', name);
            EXECUTE format('ALTER TABLE public.attempts ATTACH PARTITION public.%I '
                'FOR VALUES FROM (%L) TO (%L)',
                name, day::timestamp AT TIME ZONE 'UTC', (day + 1)::timestamp AT TIME ZONE 'UTC');
        EXCEPTION
            -- this day has begun without it, and stays in attempts_rest
            WHEN check_violation THEN NULL;
            WHEN lock_not_available THEN RETURN;
        END;
    END LOOP;
END
$$;

CREATE FUNCTION public.mailroom_peers(queue text, owner bigint, mode text, holder text, epoch bigint DEFAULT NULL::bigint, renew boolean DEFAULT true, over text DEFAULT NULL::text, hung bigint DEFAULT NULL::bigint, settle boolean DEFAULT true, gone bigint[] DEFAULT '{}'::bigint[], counters bigint[] DEFAULT '{}'::bigint[], hangs boolean[] DEFAULT '{}'::boolean[], leave text DEFAULT NULL::text, host text DEFAULT NULL::text, version text DEFAULT NULL::text, settings text DEFAULT NULL::text, written bigint DEFAULT NULL::bigint) RETURNS TABLE(state text, epoch_ bigint, holder_ text, progress bigint, waits boolean, lanes text, adopted bigint, other bigint, renewed bigint, alive boolean, busy boolean)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET row_security TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    me bigint := owner;
    alone bool := mode = 'cursor'; -- only one may collect
    my_epoch bigint := epoch;
    job public.jobs;
    held bool;
    q public.job_type;
    g record;
BEGIN
    SELECT * INTO job FROM public.jobs AS j WHERE j.job_type::text = queue;
    IF NOT FOUND THEN
        state := 'unknown';
        RETURN NEXT;
        RETURN;
    END IF;
    q := job.job_type;
    IF leave IS NOT NULL THEN
        PERFORM public.mailroom_release(q, me, mode, leave);
        DELETE FROM public.owners AS o WHERE o.queue = q AND o.owner = me;
        UPDATE public.jobs AS j SET holder = NULL, last_seq = greatest(j.last_seq, (
            SELECT c.id FROM public.cursors AS c WHERE c.queue = q AND c.lane = 1
                ORDER BY c.n DESC LIMIT 1))
        WHERE j.job_type = q AND j.holder = mailroom_peers.holder;
        IF mode = 'leased' THEN
            INSERT INTO public.runs (run, event, queue, how, tokens) VALUES (me, 'ended', q, leave,
            mailroom_peers.written);
        END IF;
        state := 'left';
        RETURN NEXT;
        RETURN;
    END IF;

    adopted := 0;
    IF my_epoch IS NULL THEN
        -- For the session, not for each function: to set them takes as long as to read a token.
        -- Every read is then the same walk along an index, whatever the statistics say.
        PERFORM set_config(p.name, p.value, false)
        FROM (VALUES ('enable_seqscan', 'off'), ('enable_bitmapscan', 'off'),
            ('enable_hashjoin', 'off'), ('enable_mergejoin', 'off'), ('enable_material', 'off'),
            ('enable_memoize', 'off'), ('jit', 'off'), ('plan_cache_mode', 'force_generic_plan'))
            AS p (name, value)
        JOIN pg_settings AS s USING (name); -- an older server lacks some
        IF job.mode IS NOT NULL AND job.mode <> mode THEN
            state := job.mode;
            RETURN NEXT;
            RETURN;
        END IF;
        held := EXISTS (SELECT FROM public.mailroom_locks() AS l
                        WHERE l.key = public.mailroom_lock_key(queue, job.epoch::text));
        IF alone AND NOT coalesce(job.holder = holder OR job.epoch = hung
                          OR NOT held AND (job.holder IS NULL OR job.holder = "over"), false)
           OR NOT pg_try_advisory_lock_shared(public.mailroom_lock_key(queue, 'queue'))
           OR NOT pg_try_advisory_lock(me)
           OR alone AND NOT pg_try_advisory_lock(public.mailroom_lock_key(queue,
           (job.epoch + 1)::text)) THEN
            state := CASE WHEN alone AND NOT held THEN 'free' ELSE 'held' END;
        ELSIF public.mailroom_moved(queue) AND NOT settle THEN
            state := CASE WHEN job.mode IS NULL THEN 'new' ELSE 'moved' END;
        ELSE
            IF public.mailroom_moved(queue) THEN
                PERFORM public.mailroom_settle(queue, mode);
            END IF;
            SELECT * INTO job FROM public.jobs AS j WHERE j.job_type = q FOR UPDATE;
            IF job.mode <> mode THEN
                state := job.mode;
                RETURN NEXT;
                RETURN;
            END IF;
            INSERT INTO public.owners (queue, owner) VALUES (q, me)
            ON CONFLICT (queue, owner) DO UPDATE SET renewed = owners.renewed + 1;
            IF alone THEN
                -- The claim. A new epoch and a new version of the first lane's cursor fence every
                -- earlier session. What others have taken and not settled becomes ours, with its n.
                PERFORM FROM public.cursors AS c WHERE c.queue = q AND c.lane = 1
                    ORDER BY c.n DESC LIMIT 1 FOR UPDATE;
                job.epoch := job.epoch + 1;
                IF NOT pg_try_advisory_lock(public.mailroom_lock_key(queue, job.epoch::text)) THEN
                    state := 'held';
                    RETURN NEXT;
                    RETURN;
                END IF;
                UPDATE public.jobs AS j SET epoch = job.epoch, holder = mailroom_peers.holder,
                    renewed = j.renewed + 1, last_seq = greatest(j.last_seq, (
                        SELECT c.id FROM public.cursors AS c WHERE c.queue = q AND c.lane = 1
                            ORDER BY c.n DESC LIMIT 1))
                WHERE j.job_type = q;
                UPDATE public.cursors AS c SET n = c.n + 1, written = pg_current_xact_id()
                WHERE c.queue = q AND c.lane = 1
                  AND c.n = (SELECT x.n FROM public.cursors AS x WHERE x.queue = q AND x.lane = 1
                             ORDER BY x.n DESC LIMIT 1);
                WITH ours AS (
                    UPDATE public.deliveries AS d SET owner = me, due = '-infinity', paid_at = NULL
                    WHERE d.queue = q AND d.owner <> me RETURNING cardinality(d.tokens) AS n
                )
                SELECT coalesce(sum(o.n), 0) INTO adopted FROM ours AS o;
                DELETE FROM public.owners AS o WHERE o.queue = q AND o.owner <> me;
            END IF;
            IF host IS NOT NULL AND mode = 'leased' THEN
                INSERT INTO public.runs (run, event, queue, host, version, settings)
                VALUES (me, 'started', q, mailroom_peers.host, mailroom_peers.version,
                mailroom_peers.settings);
            END IF;
            state := 'ours';
            my_epoch := job.epoch;
        END IF;
    ELSE
        state := 'ours';
        IF job.epoch <> my_epoch THEN
            state := 'lost';
        ELSIF renew AND alone THEN
            UPDATE public.jobs AS j SET renewed = j.renewed + 1 WHERE j.job_type = q
                AND j.epoch = my_epoch;
        ELSIF renew THEN
            UPDATE public.owners AS o SET renewed = o.renewed + 1 WHERE o.queue = q AND o.owner = me;
        END IF;
        -- Frees what the gone have in hand. One that has renewed since is kept, and one that was
        -- gone and has come back, too. A row stays as long as its session lives, because an owner
        -- without a row is found by nobody.
        FOR g IN SELECT * FROM unnest(gone, counters, hangs) AS g (owner, counter, hangs)
            WHERE g.owner NOT IN (0, me) LOOP
            CONTINUE WHEN NOT g.hangs AND NOT pg_try_advisory_xact_lock_shared(g.owner);
            PERFORM FROM public.owners AS o WHERE o.queue = q AND o.owner = g.owner
                AND o.renewed = g.counter FOR UPDATE;
            CONTINUE WHEN NOT FOUND;
            adopted := adopted + public.mailroom_release(q, g.owner, mode,
                CASE WHEN g.hangs THEN 'it does not renew its lease'
                    ELSE 'its session has ended' END);
            IF NOT g.hangs THEN
                DELETE FROM public.owners AS o WHERE o.queue = q AND o.owner = g.owner;
                IF mode = 'leased' THEN
                    INSERT INTO public.runs (run, event, queue, how) VALUES (g.owner, 'ended', q,
                    'its session has ended');
                END IF;
            END IF;
        END LOOP;
    END IF;

    SELECT j.epoch, coalesce(j.holder, ''), j.renewed + (
               SELECT sum(c.n)
                   FROM generate_series(1,
               cardinality(enum_range(NULL::public.token_action))) AS l (lane),
                   LATERAL (SELECT x.n FROM public.cursors AS x WHERE x.queue = q AND x.lane = l.lane
                            ORDER BY x.n DESC LIMIT 1) AS c)
    INTO epoch_, holder_, progress
    FROM public.jobs AS j WHERE j.job_type = q;
    waits := EXISTS (SELECT FROM public.deliveries AS d WHERE d.queue = q AND d.owner = 0
        AND d.due <= clock_timestamp());
    -- A statement of its own: the server locks all tables of a statement, whatever it reads, and
    -- while somebody else has locked accounts, a lease must be renewed all the same.
    IF state <> 'ours' AND NOT waits THEN
        waits := EXISTS (SELECT FROM public.mailroom_walk(q, 1, NULL, 0))
            OR EXISTS (SELECT FROM public.mailroom_locks() AS l
                JOIN public.owners AS o ON o.owner = l.key
                       WHERE o.queue = q AND l.mode = 'ShareLock');
    END IF;
    lanes := (SELECT string_agg(array_to_string(c.actions, '+'), ',' ORDER BY l.lane)
              FROM generate_series(1, cardinality(enum_range(NULL::public.token_action))) AS l (lane),
                   LATERAL (SELECT x.actions FROM public.cursors AS x WHERE x.queue = q
                       AND x.lane = l.lane
                            ORDER BY x.n DESC LIMIT 1) AS c);
    RETURN NEXT;
    IF state <> 'ours' OR alone THEN
        RETURN;
    END IF;
    -- When there are many, those that are gone come first, and then those whose numbers follow
    -- ours, as in a ring. So each living owner is watched by the same few others all the time.
    RETURN QUERY
    SELECT 'other', NULL::bigint, NULL::text, NULL::bigint, NULL::bool, NULL::text, NULL::bigint,
           o.owner, o.renewed, l.alive, l.busy
    FROM public.owners AS o
    CROSS JOIN LATERAL (
        SELECT coalesce(bool_or(k.mode = 'ExclusiveLock'), false) AS alive,
               coalesce(bool_or(k.mode = 'ShareLock'), false) AS busy
        FROM public.mailroom_locks() AS k WHERE k.key = o.owner) AS l
    WHERE o.queue = q AND o.owner NOT IN (0, me)
    ORDER BY l.alive, o.owner < me, o.owner
    LIMIT 16;
END
$$;

CREATE FUNCTION public.mailroom_place(list public.mailroom_token[], n bigint) RETURNS integer
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT t.ordinality::int FROM unnest(list) WITH ORDINALITY AS t
    WHERE t.passed IS NULL OFFSET n - 1 LIMIT 1
$$;

CREATE FUNCTION public.mailroom_protocol() RETURNS integer
    LANGUAGE sql IMMUTABLE
    AS $$SELECT 1$$;

CREATE FUNCTION public.mailroom_read(queue text, epoch bigint, wanted integer, behind text DEFAULT NULL::text) RETURNS TABLE(kind integer, token bigint, email character varying, login character varying, secret bytea, code character varying, part integer, xid xid8, passed text, place text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET row_security TO 'off'
    AS $_$
#variable_conflict use_column
DECLARE
    q public.job_type := queue::public.job_type;
    n bigint;
    seen pg_snapshot;
    tick pg_snapshot;
    at_xid xid8;
    at_id bigint;
    actions public.token_action[];
    ours bool;
    now pg_snapshot;
    clock bigint;
    parts text[];
BEGIN
    IF behind IS NULL THEN
        SELECT c.n, c.seen, c.tick, c.xid, c.id,
               c.actions, CASE WHEN cardinality(c.actions) > 1 THEN j.epoch = $2 END
        INTO n, seen, tick, at_xid, at_id, actions, ours
        FROM public.jobs AS j, LATERAL (SELECT * FROM public.cursors AS c
            WHERE c.queue = q AND c.lane = 1 ORDER BY c.n DESC LIMIT 1) AS c
        WHERE j.job_type = q;
        IF ours THEN
            NULL;
        ELSIF ours IS NULL THEN
            PERFORM public.mailroom_refuse('where there are lanes, lines must be taken');
        ELSE
            RAISE object_in_use
            USING MESSAGE = format('another collector has the queue %s', queue);
        END IF;
    ELSE
        -- The line that this one is behind was read, and its settling fails if the queue was lost.
        parts := string_to_array(behind, ';');
        n := parts[1]::bigint + 1;
        seen := parts[2];
        tick := parts[3];
        at_xid := parts[4];
        at_id := parts[5];
        actions := enum_range(NULL::public.token_action);
    END IF;
    now := public.mailroom_now();
    clock := floor(extract(epoch FROM clock_timestamp()));
    kind := 0;
    place := concat_ws(';', n, seen, tick, now);
    RETURN NEXT;
    RETURN QUERY
    SELECT CASE w.action WHEN 'activation' THEN 1 ELSE 2 END, w.id, w.email, w.login, w.secret,
           w.code, w.part, w.xid, w.passed, NULL::text
    FROM public.mailroom_behind(actions, seen, tick, at_xid, at_id, now, clock) AS w
    LIMIT wanted;
END
$_$;

CREATE FUNCTION public.mailroom_refuse(why text) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    RAISE invalid_transaction_state USING MESSAGE = why;
END
$$;

CREATE FUNCTION public.mailroom_release(q public.job_type, gone bigint, mode text, how text) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    total bigint;
BEGIN
    IF mode = 'leased' THEN
        INSERT INTO public.attempts (token, number, run, leased, outcome, text, nonce)
        SELECT u.t, coalesce(d.numbers[u.at], 1), gone, d.leased_at, 'lost', how, d.nonce
        FROM public.deliveries AS d, unnest(d.tokens) WITH ORDINALITY AS u (t, at)
        WHERE d.queue = q AND d.owner = gone;
    END IF;
    WITH back AS (
        -- Its line may be out already, so what it paid does not count for the next one.
        UPDATE public.deliveries AS d SET owner = 0, due = '-infinity', paid_at = NULL,
            numbers = CASE WHEN mode = 'leased' THEN ARRAY(SELECT coalesce(d.numbers[u.at], 1) + 1
                FROM unnest(d.tokens) WITH ORDINALITY AS u (t, at) ORDER BY u.at)
                    ELSE d.numbers END,
            errors = CASE WHEN mode = 'leased' AND d.errors IS NULL
                THEN array_fill(0, ARRAY[cardinality(d.tokens)]) ELSE d.errors END
        WHERE d.queue = q AND d.owner = gone
        RETURNING cardinality(d.tokens) AS n
    )
    SELECT coalesce(sum(b.n), 0) INTO total FROM back AS b;
    IF total > 0 THEN
        INSERT INTO public.owners (queue, owner) VALUES (q, 0)
        ON CONFLICT (queue, owner) DO UPDATE SET renewed = owners.renewed + 1;
    END IF;
    RETURN total;
END
$$;

CREATE FUNCTION public.mailroom_retry(token bigint) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    t bigint := token;
    last attempts;
BEGIN
    PERFORM pg_advisory_xact_lock(mailroom_lock_key('', 'retry ' || t));
    SELECT * INTO last FROM attempts AS a WHERE a.token = t AND a.outcome <> 'late'
    ORDER BY a.number DESC, a.ended DESC LIMIT 1;
    IF last.outcome IS NULL OR last.outcome NOT IN ('dead', 'expired') THEN
        RETURN false;
    END IF;
    DELETE FROM dead_letters AS d WHERE d.token = t;
    INSERT INTO attempts (token, number, run, outcome, text)
    VALUES (t, last.number, 0, 'retried', 'by hand');
    INSERT INTO deliveries (queue, owner, tokens, numbers, due)
    SELECT job_type, 0, ARRAY[t], ARRAY[last.number + 1], clock_timestamp() FROM jobs LIMIT 1;
    INSERT INTO owners AS o (queue, owner) SELECT job_type, 0 FROM jobs LIMIT 1
    ON CONFLICT (queue, owner) DO UPDATE SET renewed = o.renewed + 1;
    RETURN true;
END
$$;

CREATE FUNCTION public.mailroom_secure() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    schema_ regnamespace := (SELECT relnamespace FROM pg_class WHERE oid = 'public.tokens'::regclass);
    tables_owner regrole := (SELECT relowner FROM pg_class WHERE oid = 'public.tokens'::regclass);
    super bool := (SELECT rolsuper FROM pg_roles WHERE rolname = current_user);
    f regprocedure;
    lent bool;
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'mailroom_owner') THEN
        CREATE ROLE mailroom_owner NOLOGIN;
    END IF;
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'mailroom_owner' AND (rolsuper OR rolcanlogin
        OR rolcreaterole OR rolcreatedb OR rolreplication)) THEN
        ALTER ROLE mailroom_owner NOSUPERUSER NOLOGIN NOCREATEROLE NOCREATEDB NOREPLICATION;
    END IF;
    IF super AND NOT (SELECT rolbypassrls FROM pg_roles WHERE rolname = 'mailroom_owner') THEN
        ALTER ROLE mailroom_owner BYPASSRLS;
    END IF;
    -- The tables' owner can still replace and drop the functions, and call those that it is not
    -- granted. Without the membership no one but a superuser could give a function away.
    IF NOT pg_has_role(tables_owner, 'mailroom_owner', 'USAGE') THEN
        EXECUTE format('GRANT mailroom_owner TO %s', tables_owner);
    END IF;

    EXECUTE format('GRANT USAGE ON SCHEMA %s TO mailroom_owner', schema_);
    GRANT SELECT (id, email, login, status) ON public.accounts TO mailroom_owner;
    GRANT SELECT, UPDATE (xid) ON public.tokens TO mailroom_owner;
    GRANT SELECT, UPDATE (mode, cluster, epoch, holder, renewed, last_seq) ON public.jobs
        TO mailroom_owner;
    GRANT SELECT, UPDATE (n, seen, tick, xid, id, written) ON public.cursors TO mailroom_owner;
    GRANT SELECT, INSERT, DELETE, UPDATE (renewed) ON public.owners TO mailroom_owner;
    GRANT SELECT, INSERT, UPDATE, DELETE ON public.deliveries TO mailroom_owner;
    GRANT SELECT, INSERT, UPDATE ON public.budgets TO mailroom_owner;
    GRANT SELECT, INSERT ON public.attempts TO mailroom_owner;
    GRANT INSERT ON public.runs, public.dead_letters TO mailroom_owner;
    GRANT USAGE ON SEQUENCE public.dead_letters_id_seq TO mailroom_owner;
    FOR f IN SELECT p.oid FROM pg_proc AS p WHERE p.pronamespace = schema_ AND p.proname IN (
        'mailroom_lock_key', 'mailroom_untaken', 'mailroom_clamp', 'mailroom_refuse',
        'mailroom_now', 'mailroom_ended', 'mailroom_behind', 'mailroom_walk', 'mailroom_unsendable',
        'mailroom_suspect', 'mailroom_place', 'mailroom_examine', 'mailroom_locks',
        'mailroom_release')
    LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO mailroom_owner', f);
    END LOOP;

    -- A function's new owner must be allowed to create in the schema, at this moment.
    lent := NOT has_schema_privilege('mailroom_owner', schema_, 'CREATE');
    IF lent THEN
        EXECUTE format('GRANT CREATE ON SCHEMA %s TO mailroom_owner', schema_);
    END IF;
    FOR f IN SELECT p.oid FROM pg_proc AS p WHERE p.pronamespace = schema_ AND p.prosecdef
        AND (p.proname LIKE 'mailroom\_%' OR p.proname = 'tokens_truncated')
        AND p.proowner <> 'mailroom_owner'::regrole
    LOOP
        EXECUTE format('ALTER FUNCTION %s OWNER TO mailroom_owner', f);
    END LOOP;
    IF lent THEN
        EXECUTE format('REVOKE CREATE ON SCHEMA %s FROM mailroom_owner', schema_);
    END IF;
END
$$;

CREATE FUNCTION public.mailroom_settle(queue text, new_mode text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET row_security TO 'off'
    AS $_$
DECLARE
    job public.jobs;
    row_xmin xid;
    point bigint;
    own bigint;
BEGIN
    IF new_mode NOT IN ('cursor', 'shared', 'leased') THEN
        RAISE invalid_parameter_value USING MESSAGE = 'there is no mode ' || new_mode;
    END IF;
    IF NOT pg_try_advisory_xact_lock(public.mailroom_lock_key(queue, 'queue')) THEN
        RAISE object_in_use USING MESSAGE = 'a collector is running; stop all of them first';
    END IF;
    SELECT * INTO STRICT job FROM public.jobs AS j WHERE j.job_type::text = queue FOR UPDATE;
    IF NOT public.mailroom_moved(queue) THEN
        RETURN NULL;
    END IF;
    SELECT j.xmin INTO row_xmin FROM public.jobs AS j WHERE j.job_type = job.job_type;
    -- This transaction's own number may be on tokens that it inserts later. Once it has one, no
    -- snapshot of its has a higher xmin.
    own := pg_current_xact_id()::text::bigint;
    point := greatest(job.last_xid::text::bigint, 1);
    IF job.mode IS NULL AND point < own - age(row_xmin) AND NOT EXISTS (
           SELECT FROM unnest(enum_range(NULL::public.token_action)) AS a (action), LATERAL (
               SELECT FROM public.tokens AS t WHERE t.action = a.action AND t.xid::text::bigint <> own
                 AND t.xid >= pg_snapshot_xmax(pg_current_snapshot()) LIMIT 1) AS t) THEN
        WITH old AS (
            SELECT t.id, row_number() OVER (ORDER BY t.id) AS at FROM public.tokens AS t
            WHERE t.xid = '0' AND job.last_xid = '0' AND t.id > job.last_seq
        )
        INSERT INTO public.deliveries (queue, owner, tokens)
        SELECT job.job_type, 0, array_agg(o.id ORDER BY o.at) FROM old AS o
            GROUP BY o.at / 100 ORDER BY o.at / 100;
        UPDATE public.cursors AS c SET n = c.n + 1, written = pg_current_xact_id(),
            seen = format('%1$s:%1$s:', point)::pg_snapshot,
            tick = format('%1$s:%1$s:', point + 1)::pg_snapshot,
            xid = job.last_xid, id = job.last_seq
        WHERE c.queue = job.job_type;
    ELSE
        WITH start AS MATERIALIZED (
            SELECT pg_snapshot_xmin(pg_current_snapshot()) AS xid
        ), since AS MATERIALIZED (
            -- A cursor that was written here has the tokens inserted since among those that wait.
            SELECT a.action,
            greatest(0, own - age(CASE WHEN job.mode IS NULL THEN row_xmin ELSE c.xmin END)) AS xid
            FROM public.cursors AS c, unnest(c.actions) AS a (action)
            WHERE c.queue = job.job_type AND (job.mode IS NULL OR c.written IS NULL
                OR c.xmin::text::bigint <> c.written::text::bigint & 4294967295)
        ), waits AS MATERIALIZED (
            SELECT u.token, u.xid FROM public.mailroom_untaken(queue) AS u
            UNION
            SELECT t.id, t.xid FROM since AS s JOIN public.tokens AS t ON t.action = s.action
            WHERE t.xid BETWEEN s.xid::text::xid8 AND own::text::xid8
                AND age(t.xmin) <= age(t.xid::xid)
        ), chunked AS (
            SELECT w.token, row_number() OVER (ORDER BY w.xid, w.token) AS at FROM waits AS w
        ), given AS (
            INSERT INTO public.deliveries (queue, owner, tokens)
            SELECT job.job_type, 0, array_agg(w.token ORDER BY w.at) FROM chunked AS w
                GROUP BY w.at / 100
            ORDER BY w.at / 100
        ), behind AS (
            UPDATE public.tokens AS t SET xid = '0' FROM start AS s WHERE t.xid >= s.xid
        )
        UPDATE public.cursors AS c SET n = c.n + 1, written = pg_current_xact_id(),
            seen = format('%1$s:%1$s:', s.xid)::pg_snapshot,
            tick = format('%1$s:%1$s:', s.xid)::pg_snapshot, xid = '0', id = 0
        FROM start AS s
        WHERE c.queue = job.job_type;
    END IF;
    INSERT INTO public.owners (queue, owner)
    SELECT DISTINCT d.queue, d.owner FROM public.deliveries AS d WHERE d.queue = job.job_type
    ON CONFLICT DO NOTHING;
    UPDATE public.jobs AS j SET mode = coalesce(j.mode, new_mode), cluster = public.mailroom_cluster(),
        epoch = j.epoch + 1, holder = NULL, last_seq = greatest(j.last_seq, 0)
    WHERE j.job_type = job.job_type;
    RETURN (SELECT count(*) FROM public.mailroom_untaken(queue))
         + (SELECT coalesce(sum(cardinality(d.tokens)), 0) FROM public.deliveries AS d
            WHERE d.queue = job.job_type);
END
$_$;

CREATE FUNCTION public.mailroom_settle_lines(queue text, owner bigint, lines bigint[], nonces bigint[], outcome text DEFAULT 'written'::text, ends bigint[] DEFAULT NULL::bigint[], dead_tokens bigint[] DEFAULT NULL::bigint[], dead_reasons text[] DEFAULT NULL::text[], place text DEFAULT NULL::text, tokens bigint[] DEFAULT NULL::bigint[], numbers integer[] DEFAULT NULL::integer[], outcomes text[] DEFAULT NULL::text[], texts text[] DEFAULT NULL::text[], delays_ms bigint[] DEFAULT NULL::bigint[], alones boolean[] DEFAULT NULL::boolean[], in_doubt bigint[] DEFAULT NULL::bigint[]) RETURNS TABLE(kind text, line bigint, nonce bigint, token bigint, secret bytea)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET row_security TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    q public.job_type := queue::public.job_type;
    me bigint := owner;
    parts text[];
    whole bool;                  -- the place was a cursor's, and it went on
    answered bigint[] := tokens; -- by a name that no column has
    rows tid[];                  -- the places of the lines that are ours
    ours bigint[];               -- their n
    our_nonces bigint[];
    leased timestamptz[];        -- when they were taken
    counted bigint[];            -- answered tokens of theirs
    counted_nonces bigint[];
    gone int;                    -- lines of which every token is answered
BEGIN
    IF outcome NOT IN ('written', 'back') THEN
        RAISE invalid_parameter_value
            USING MESSAGE = format('the outcome of a line is %L; allowed is written or back',
        outcome);
    END IF;
    IF in_doubt IS NOT NULL THEN
        RETURN QUERY SELECT 'ours', d.n, d.nonce, NULL::bigint, NULL::bytea
        FROM public.deliveries AS d WHERE d.queue = q AND d.owner = me ORDER BY d.n LIMIT 1000;
        RETURN QUERY SELECT 'waits', NULL::bigint, NULL::bigint, t.id, t.secret
        FROM unnest(in_doubt) AS doubtful (id)
        JOIN public.tokens AS t USING (id)
        CROSS JOIN generate_series(1, cardinality(enum_range(NULL::public.token_action))) AS l (lane)
        CROSS JOIN LATERAL (SELECT * FROM public.cursors AS x WHERE x.queue = q AND x.lane = l.lane
                            ORDER BY x.n DESC LIMIT 1) AS c
        WHERE t.action = ANY (c.actions)
          AND (NOT (pg_visible_in_snapshot(t.xid, c.seen)
                    OR pg_visible_in_snapshot(t.xid, c.tick) AND (t.xid, t.id) <= (c.xid, c.id))
               OR t.id IN (SELECT unnest(d.tokens) -- the server makes one hash table of these ids
                           FROM public.deliveries AS d WHERE d.queue = q AND d.owner = me));
        RETURN;
    END IF;

    IF place IS NOT NULL THEN
        parts := string_to_array(place, ';');
        UPDATE public.cursors AS c
        SET n = c.n + 1, written = pg_current_xact_id(), seen = parts[2]::pg_snapshot,
            tick = parts[3]::pg_snapshot, xid = parts[4]::xid8, id = parts[5]::bigint
        WHERE c.queue = q AND c.lane = 1 AND c.n = parts[1]::bigint
        RETURNING c.xmin::text::bigint = c.written::text::bigint & 4294967295 INTO whole;
        IF NOT FOUND THEN
            kind := 'lost';
            RETURN NEXT;
        ELSIF NOT whole THEN
            PERFORM public.mailroom_refuse(
                'mailroom_settle_lines was called in a savepoint, or in a block with EXCEPTION');
        END IF;
        IF cardinality(lines) = 0 AND dead_tokens IS NULL THEN
            RETURN;
        END IF;
    END IF;

    -- Whoever frees the lines of the dead waits here, or we for them. From here on the rows are
    -- found by their places: a planner that takes the table for empty thinks any index as good,
    -- and walks all that an old snapshot keeps. OFFSET 0 leaves it the index on n.
    IF outcome = 'written' AND answered IS NULL AND dead_tokens IS NULL AND ends IS NULL THEN
        -- The usual case, in one statement.
        WITH gone AS (
            DELETE FROM public.deliveries AS x
            WHERE x.ctid = ANY (ARRAY(SELECT o.ctid FROM public.deliveries AS o
                    WHERE o.n = ANY (lines) ORDER BY o.n FOR UPDATE))
              AND x.nonce = ANY (nonces) AND x.owner IS NOT DISTINCT FROM me
              AND x.queue IS NOT DISTINCT FROM q
            RETURNING x.n
        )
        SELECT array_agg(g.n) INTO ours FROM gone AS g;
        IF cardinality(ours) = cardinality(lines) THEN
            RETURN;
        END IF;
    ELSIF lines IS NOT NULL THEN
        SELECT array_agg(x.ctid), array_agg(x.n), array_agg(x.nonce), array_agg(x.leased_at)
        INTO rows, ours, our_nonces, leased
        FROM (SELECT x.ctid, x.* FROM public.deliveries AS x WHERE x.n = ANY (lines)
            ORDER BY x.n FOR UPDATE OFFSET 0) AS x
        WHERE x.queue = q AND x.owner = me
            AND (x.n, x.nonce) IN (SELECT * FROM unnest(lines, nonces));
    ELSIF outcome = 'back' THEN
        rows := ARRAY(SELECT x.ctid FROM public.deliveries AS x WHERE x.queue = q
            AND x.owner = me FOR UPDATE);
    END IF;

    IF answered IS NOT NULL THEN
        WITH recorded AS (
            INSERT INTO public.attempts AS b (token, number, run, leased, outcome, text, nonce)
            SELECT a.t, a.number, me, leased[array_position(our_nonces, a.nonce)], a.what, a.why,
                   a.nonce
            FROM unnest(nonces, answered, numbers, outcomes, texts) AS a (nonce, t, number, what,
                why)
            -- IS TRUE keeps the server from a join here: it makes one hash table.
            WHERE a.what <> 'late' AND ((a.nonce, a.t) IN (
                SELECT x.nonce, u.t FROM public.deliveries AS x, unnest(x.tokens) AS u (t)
                WHERE x.ctid = ANY (rows))) IS TRUE
            RETURNING b.nonce, b.token
        )
        SELECT array_agg(r.nonce), array_agg(r.token) INTO counted_nonces, counted
        FROM recorded AS r;
        IF coalesce(cardinality(counted), 0) < cardinality(answered) THEN
            -- An answer that we have counted already, and whose confirmation got lost, is not late.
            RETURN QUERY
            WITH late AS MATERIALIZED (
                SELECT a.* FROM unnest(lines, nonces, answered, numbers, outcomes, texts)
                    AS a (line, nonce, t, number, what, why)
                WHERE a.what = 'late' OR NOT EXISTS (SELECT FROM public.attempts AS b
                    WHERE b.token = a.t AND b.nonce = a.nonce AND b.outcome = a.what)
            ), recorded AS (
                INSERT INTO public.attempts (token, number, run, outcome, text, nonce)
                SELECT l.t, l.number, me, 'late', l.why, l.nonce FROM late AS l
                WHERE NOT EXISTS (SELECT FROM public.attempts AS b
                    WHERE b.token = l.t AND b.nonce = l.nonce AND b.outcome = 'late')
            )
            SELECT 'lost', l.line, l.nonce, l.t, NULL::bytea FROM late AS l;
        END IF;
        IF counted IS NULL THEN
            RETURN;
        END IF;
        IF 'dead' = ANY (outcomes) THEN
            INSERT INTO public.dead_letters (token, account, action, reason)
            SELECT t.id, t.account, t.action, a.why
            FROM unnest(nonces, answered, outcomes, texts) AS a (nonce, t, what, why)
            JOIN public.tokens AS t ON t.id = a.t
            WHERE a.what = 'dead'
                AND ((a.nonce, a.t) IN (SELECT * FROM unnest(counted_nonces, counted))) IS TRUE;
        END IF;
        IF outcomes && ARRAY['transient', 'returned'] THEN
            INSERT INTO public.deliveries (queue, owner, tokens, numbers, errors, alone, due)
            SELECT q, 0, ARRAY[b.t], ARRAY[max(b.number) + 1],
                   ARRAY[max(b.errors) + (max(b.what) = 'transient')::int],
                   coalesce(bool_or(b.alone), false),
                   clock_timestamp() + coalesce(max(b.delay), 0) * interval '1 ms'
            -- Grouping, and not a join, keeps this in proportion for the largest lines.
            FROM (SELECT x.n, x.nonce, u.t, u.at, coalesce(u.number, 1), coalesce(u.errors, 0),
                         NULL, NULL::bigint, NULL::bool
                  FROM public.deliveries AS x,
                       unnest(x.tokens, x.numbers, x.errors) WITH ORDINALITY AS u (t, number,
                           errors, at)
                  WHERE x.ctid = ANY (rows)
                  UNION ALL
                  SELECT NULL, a.nonce, a.t, NULL, NULL, NULL, a.what, a.delay, a.alone
                  FROM unnest(nonces, answered, outcomes, delays_ms, alones)
                      AS a (nonce, t, what, delay, alone)
                  WHERE a.what IN ('transient', 'returned')
                 ) AS b (line, nonce, t, at, number, errors, what, delay, alone)
            GROUP BY b.nonce, b.t HAVING count(b.at) > 0 AND count(b.what) > 0
            ORDER BY max(b.line), max(b.at);
            INSERT INTO public.owners (queue, owner) VALUES (q, 0) ON CONFLICT DO NOTHING;
        END IF;
        DELETE FROM public.deliveries AS x WHERE x.ctid = ANY (rows)
            AND (SELECT bool_and((x.nonce, u.t) IN (SELECT * FROM unnest(counted_nonces, counted)))
                 FROM unnest(x.tokens) AS u (t));
        GET DIAGNOSTICS gone = ROW_COUNT;
        IF gone < cardinality(rows) THEN
            -- Where a row has more tokens than its line had, those were not paid for.
            UPDATE public.deliveries AS x SET paid = NULL, (tokens, numbers, errors) = (
                SELECT array_agg(u.t), array_agg(u.number) FILTER (WHERE x.numbers IS NOT NULL),
                       array_agg(u.errors) FILTER (WHERE x.numbers IS NOT NULL)
                FROM unnest(x.tokens, x.numbers, x.errors) AS u (t, number, errors)
                WHERE (x.nonce, u.t) NOT IN (SELECT * FROM unnest(counted_nonces, counted)))
            WHERE x.ctid = ANY (rows) AND x.nonce = ANY (counted_nonces);
        END IF;
        RETURN;
    END IF;

    IF cardinality(lines) > coalesce(cardinality(ours), 0) THEN
        RETURN QUERY SELECT 'lost', l.n, l.nonce, NULL::bigint, NULL::bytea
        FROM unnest(lines, nonces) AS l (n, nonce) WHERE NOT l.n = ANY (coalesce(ours, '{}'));
    END IF;
    IF outcome = 'back' THEN
        UPDATE public.deliveries AS x SET owner = 0, due = '-infinity' WHERE x.ctid = ANY (rows);
        INSERT INTO public.owners (queue, owner) VALUES (q, 0)
        ON CONFLICT (queue, owner) DO UPDATE SET renewed = owners.renewed + 1;
        RETURN;
    END IF;
    IF cardinality(dead_tokens) > 0 THEN
        INSERT INTO public.dead_letters (token, account, action, reason)
        SELECT t.id, t.account, t.action, l.reason
        FROM unnest(dead_tokens, dead_reasons) AS l (token, reason)
            JOIN public.tokens AS t ON t.id = l.token
        WHERE whole OR (l.token IN (SELECT unnest(x.tokens) FROM public.deliveries AS x
            WHERE x.ctid = ANY (rows))) IS TRUE;
    END IF;
    -- Of a row that others may not have, only what was written goes. It gets another place by that.
    IF cardinality(array_remove(ends, NULL)) > 0 THEN
        UPDATE public.deliveries AS x
            SET tokens = x.tokens[l.until + 1:], numbers = x.numbers[l.until + 1:],
            errors = x.errors[l.until + 1:], paid = x.paid - l.until
        FROM (SELECT x.ctid AS row,
        nullif(array_position(x.tokens, l.last), cardinality(x.tokens)) AS until
              FROM public.deliveries AS x JOIN unnest(lines, ends) AS l (n, last) ON l.n = x.n
              WHERE x.ctid = ANY (rows)) AS l
        WHERE x.ctid = l.row AND l.until IS NOT NULL;
    END IF;
    IF rows IS NOT NULL THEN
        DELETE FROM public.deliveries AS x WHERE x.ctid = ANY (rows);
    END IF;
END
$$;

CREATE FUNCTION public.mailroom_spend(queue text, wanted integer, per_s double precision, burst double precision, daily bigint, OUT granted integer, OUT wait_ms bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    b budgets;
    now_ timestamptz;
BEGIN
    INSERT INTO budgets VALUES (queue::job_type, burst, clock_timestamp(),
        (clock_timestamp() AT TIME ZONE 'UTC')::date, 0) ON CONFLICT DO NOTHING;
    SELECT * INTO b FROM budgets AS s WHERE s.queue = mailroom_spend.queue::job_type FOR UPDATE;
    now_ := greatest(clock_timestamp(), b.at);
    b.left_ := least(burst, b.left_ + extract(epoch FROM now_ - b.at) * per_s);
    IF (now_ AT TIME ZONE 'UTC')::date > b.day THEN
        b.day := (now_ AT TIME ZONE 'UTC')::date;
        b.today := 0;
    END IF;
    granted := greatest(0, least(wanted, floor(b.left_ + 1e-9)::int));
    wait_ms := CASE WHEN granted = 0 THEN ceil((1 - b.left_) / per_s * 1000) ELSE 0 END;
    IF daily > 0 AND b.today + granted > daily THEN
        granted := greatest(0, daily - b.today);
        wait_ms := CASE WHEN granted > 0 THEN 0
            ELSE ceil(1000 * extract(epoch FROM
                (b.day + 1)::timestamp AT TIME ZONE 'UTC' - now_)) END;
    END IF;
    UPDATE budgets AS s SET left_ = b.left_ - granted, at = now_, day = b.day,
        today = b.today + granted WHERE s.queue = b.queue;
END
$$;

CREATE FUNCTION public.mailroom_suspect(names text, codes text) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT coalesce(names COLLATE "C" ~ '[",\x01-\x1f\x7f-\x9f]' OR codes COLLATE "C" ~ '[^0-9]',
        false)
$$;

CREATE FUNCTION public.mailroom_switch_mode(queue text, new_mode text) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    settled bigint := mailroom_settle(queue, new_mode);
    old_mode text;
BEGIN
    SELECT mode INTO STRICT old_mode FROM jobs WHERE job_type::text = queue FOR UPDATE;
    IF old_mode = new_mode THEN
        RETURN settled;
    END IF;
    -- No collector runs: what a killed one had out may have been sent.
    IF old_mode = 'leased' THEN
        PERFORM mailroom_release(o.queue, o.owner, 'leased', 'the mode was changed')
        FROM owners AS o
        WHERE o.queue::text = mailroom_switch_mode.queue AND o.owner <> 0;
        DELETE FROM owners AS o WHERE o.queue::text = mailroom_switch_mode.queue AND o.owner <> 0;
        INSERT INTO owners (queue, owner)
        SELECT d.queue, 0 FROM deliveries AS d
        WHERE d.queue::text = mailroom_switch_mode.queue AND d.owner = 0 LIMIT 1
        ON CONFLICT DO NOTHING;
    END IF;
    UPDATE jobs SET mode = new_mode, epoch = epoch + 1, holder = NULL WHERE job_type::text = queue;
    RETURN (SELECT count(*) FROM mailroom_untaken(queue))
         + (SELECT coalesce(sum(cardinality(tokens)), 0) FROM deliveries AS d
            WHERE d.queue::text = mailroom_switch_mode.queue);
END
$$;

CREATE FUNCTION public.mailroom_take(queue text, owner bigint, epoch bigint, wanted integer, fewest integer, lines integer DEFAULT 1, answers boolean DEFAULT false, again bigint[] DEFAULT NULL::bigint[], due_ms bigint DEFAULT NULL::bigint, per_s double precision DEFAULT 0, burst double precision DEFAULT 1, daily bigint DEFAULT 0, aged boolean DEFAULT false, ageing_s integer DEFAULT 30) RETURNS TABLE(kind integer, line bigint, nonce bigint, token bigint, number integer, errors integer, email character varying, login character varying, secret bytea, code character varying, more boolean, expired bigint, consumed bigint, others bigint, wait_ms bigint, next_due_ms bigint, alone boolean, rest integer)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET row_security TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    q public.job_type := queue::public.job_type;
    me bigint := owner;
    look bool := again IS NULL AND pg_current_xact_id_if_assigned() IS NULL;
    cur record;                       -- the cursor of a lane, first of the first one
    now pg_snapshot;
    clock bigint;
    room int;                         -- tokens to take at most
    looked timestamptz;
    from_when timestamptz;
    next_due timestamptz;
    done bool := false;
BEGIN
    IF wanted < 1 OR fewest NOT BETWEEN 1 AND wanted OR lines < 1 THEN
        RAISE invalid_parameter_value USING MESSAGE = format(
            'wanted is %s, fewest %s and lines %s; allowed is 1 <= fewest <= wanted, and lines '
            'from 1 on',
            wanted, fewest, lines);
    END IF;
    IF look THEN
        SELECT c.ctid AS at, c.n, c.seen, c.tick, c.xid, c.id, c.actions INTO cur
        FROM public.cursors AS c WHERE c.queue = q AND c.lane = 1 ORDER BY c.n DESC LIMIT 1;
    ELSE
        SELECT c.ctid AS at, c.n, c.seen, c.tick, c.xid, c.id, c.actions INTO cur
        FROM public.cursors AS c WHERE c.queue = q AND c.lane = 1 ORDER BY c.n DESC LIMIT 1
        FOR UPDATE;
    END IF;
    IF due_ms IS DISTINCT FROM 0 THEN
        looked := clock_timestamp();
        from_when := coalesce(looked - due_ms * interval '1 ms', '-infinity');
        next_due := (SELECT d.due FROM public.deliveries AS d
            WHERE d.queue = q AND d.owner = 0 AND d.due >= from_when ORDER BY d.due LIMIT 1);
        next_due_ms := CASE WHEN next_due > looked
            THEN ceil(extract(epoch FROM next_due - looked) * 1000) END;
    END IF;

    -- The usual case, in one statement: one lane, nothing due, to read again or to pay for, and
    -- nothing waits that cannot be sent. If the cursor has moved since it was read, or something
    -- is to be passed over, it changes and returns nothing.
    IF again IS NULL AND per_s = 0 AND cardinality(cur.actions) > 1
       AND coalesce(next_due > looked, true) THEN
        now := public.mailroom_now();
        clock := floor(extract(epoch FROM clock_timestamp()));
        room := wanted * greatest(1, least(lines, 32, 1000 / wanted));
        RETURN QUERY
        WITH read AS MATERIALIZED (
            SELECT CASE w.action WHEN 'activation' THEN 1 ELSE 2 END AS kind, w.id, w.email,
                   w.login, w.secret, w.code, w.part, w.xid,
                   w.passed IS NOT NULL OR w.secret IS NULL OR octet_length(w.code) <> 5
                       OR w.code IS NULL AND w.action = 'password_recovery' AS odd
            FROM public.mailroom_behind(cur.actions, cur.seen, cur.tick, cur.xid, cur.id, now,
                clock) AS w
            LIMIT room
        ), found AS MATERIALIZED (
            SELECT f.n, f.ids, f.odd,
                   CASE WHEN f.n < fewest THEN 0 WHEN f.n < wanted THEN f.n
                        ELSE f.n - f.n % wanted END AS taken
            FROM (SELECT count(*)::int AS n, array_agg(r.id) AS ids,
                         coalesce(bool_or(r.odd), false) OR public.mailroom_suspect(
                             string_agg(r.email || r.login, ''), string_agg(r.code, '')) AS odd
                  FROM read AS r) AS f
        ), moved AS (
            UPDATE public.cursors AS c
            SET n = c.n + 1, written = pg_current_xact_id(), (seen, tick, xid, id) = (
                SELECT CASE WHEN every THEN now WHEN l.part = 2 THEN c.tick ELSE c.seen END,
                       CASE WHEN every OR l.part = 2 THEN now ELSE c.tick END, l.xid, l.id
                FROM found AS f, LATERAL (SELECT r.part, r.xid, r.id,
                        f.taken = f.n AND f.n < room AS every
                    FROM read AS r OFFSET f.taken - 1 LIMIT 1) AS l)
            -- No index serves this: the planner might walk all earlier versions.
            WHERE c.ctid = cur.at AND c.n IS NOT DISTINCT FROM cur.n
              AND (SELECT f.taken > 0 AND NOT f.odd FROM found AS f)
            RETURNING c.xmin::text::bigint = c.written::text::bigint & 4294967295 AS whole
        ), made AS (
            INSERT INTO public.deliveries (queue, owner, tokens)
            SELECT q, me, f.ids[b + 1 : least(b + wanted, f.taken)]
            FROM moved AS m, found AS f, generate_series(0, f.taken - 1, wanted) AS b
            WHERE m.whole OR public.mailroom_refuse(
                'mailroom_take was called in a savepoint, or in a block with EXCEPTION')
            RETURNING n, nonce
        ), line AS (
            SELECT m.n, m.nonce FROM made AS m
            UNION ALL
            SELECT NULL, NULL FROM found AS f WHERE f.taken = 0 AND NOT f.odd
        )
        SELECT 0, NULL::bigint, NULL::bigint, NULL::bigint, NULL::int, 0, NULL::varchar,
               NULL::varchar, NULL::bytea, NULL::varchar,
               f.taken > 0 AND (f.taken < f.n OR f.n = room), 0::bigint, 0::bigint,
               0::bigint, NULL::bigint, next_due_ms, false, NULL::int
        FROM found AS f WHERE EXISTS (SELECT FROM line)
        UNION ALL
        SELECT CASE WHEN l.n IS NULL THEN 3 ELSE r.kind END, l.n, l.nonce, r.id, 1, 0, r.email,
               r.login, r.secret, r.code, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
        FROM line AS l, LATERAL (
            SELECT r.* FROM read AS r
            OFFSET wanted * (SELECT count(*) FROM line AS o WHERE o.n < l.n) LIMIT wanted) AS r;
        done := FOUND;
    END IF;

    -- Everything else: one line at most.
    IF NOT done THEN
    DECLARE
        moves bigint := CASE WHEN look THEN cur.n END; -- as the look saw it
        lanes int := cardinality(enum_range(NULL::public.token_action)) - cardinality(cur.actions)
            + 1;                              -- one, or one for each action
        first_lane int := 1;
        most int := 4 * wanted + 64000;   -- tokens to examine at most
        waits bigint[] := '{}';           -- tokens that are due
        seen record;                      -- what was examined
        sendable public.mailroom_token[];   -- of that, what can be sent
        -- Rows of deliveries that come first, up to which of their tokens each goes, and their
        -- tokens.
        from_n bigint[] := '{}';
        from_end int[] := '{}';
        from_alone bool := false;
        due public.mailroom_token[] := '{}';
        paid int := 0;                    -- tokens that are paid for
        paid_since timestamptz;           -- the oldest of these payments; null: there is none
        moment timestamptz;               -- of the payment
        granted bigint;
        taken int;
        upto int;                         -- tokens that are taken or passed over
        every bool;                       -- these are all that wait
        places int[];                     -- of the last token of each lane
        last public.mailroom_token;
        at int;
        emptied bool;                     -- nothing is left of its lane
        whole bool;
        ids bigint[];
        tried bool := false;              -- some of them, before
        tries int[];
        failed int[];
        used int;                         -- tokens of the rows that come first
        whole_n int;                      -- rows that are used up
        gone int;                         -- the first of them that is over
        cut int;                          -- tokens of the row behind them that are used up
        line_n bigint;
        line_nonce bigint;
    BEGIN
    looked := clock_timestamp();
    moment := looked;
    kind := 0;
    errors := 0;
    expired := 0;
    consumed := 0;
    others := 0;
    alone := false;
    IF again IS NULL AND due_ms IS DISTINCT FROM 0 THEN
        waits := ARRAY(SELECT u.t
            FROM (SELECT d.tokens FROM public.deliveries AS d
                  WHERE d.queue = q AND d.owner = 0 AND d.due <= looked AND d.due >= from_when
                  ORDER BY d.due, d.n) AS d, unnest(d.tokens) AS u (t)
            LIMIT fewest);
    END IF;
    IF look THEN
        IF cardinality(waits) < fewest THEN
            seen := public.mailroom_examine(q, 1,
                CASE WHEN cardinality(waits) = 0 THEN wanted ELSE fewest - cardinality(waits) END,
                most, '{}');
            -- Rows at the head that cannot be sent are passed when they are many, or alone.
            IF seen.n < fewest - cardinality(waits) AND (cardinality(waits) > 0
                   OR coalesce(public.mailroom_place(seen.list, 1) <= 100,
                       cardinality(seen.list) = 0)) THEN
                more := false;
                IF due_ms IS DISTINCT FROM 0 THEN
                    next_due_ms := (SELECT ceil(extract(epoch FROM d.due - clock_timestamp())
                        * 1000) FROM public.deliveries AS d
                        WHERE d.queue = q AND d.owner = 0 AND d.due > looked
                        ORDER BY d.due LIMIT 1);
                END IF;
                RETURN NEXT;
                kind := 3;
                FOREACH token IN ARRAY waits || ARRAY(
                    SELECT t.id FROM unnest(seen.list) AS t WHERE t.passed IS NULL) LOOP
                    RETURN NEXT;
                END LOOP;
                RETURN;
            END IF;
        END IF;
        SELECT c.ctid AS at, c.n, c.seen, c.tick INTO cur FROM public.cursors AS c
        WHERE c.queue = q AND c.lane = 1 ORDER BY c.n DESC LIMIT 1 FOR UPDATE;
    END IF;

    IF again IS NOT NULL OR cardinality(waits) > 0 THEN
        WITH locked AS MATERIALIZED (
            SELECT d.n, d.due, d.tokens, d.numbers, d.errors, d.alone, d.paid,
                   d.paid_at > looked - interval '2 s' AS valid, d.paid_at
            -- null: none
            FROM (SELECT * FROM public.deliveries AS d WHERE d.n = ANY (again) OFFSET 0) AS d
            WHERE d.queue = q AND d.owner = me
            UNION ALL
            SELECT d.*
            FROM (SELECT d.n, d.due, d.tokens, d.numbers, d.errors, d.alone, d.paid,
                         d.paid_at > looked - interval '2 s' AS valid, d.paid_at
                  FROM public.deliveries AS d
                  WHERE d.queue = q AND d.owner = 0 AND d.due <= looked AND again IS NULL
                    AND d.due >= from_when
                  ORDER BY d.due, d.n LIMIT wanted FOR UPDATE SKIP LOCKED) AS d
        ), ordered AS (
            SELECT l.*, row_number() OVER line AS at, first_value(l.alone) OVER line AS single,
                   sum(cardinality(l.tokens)) OVER line AS until
            FROM locked AS l WINDOW line AS (ORDER BY l.due, l.n ROWS UNBOUNDED PRECEDING)
        ), used AS MATERIALIZED (
            -- A token that was in flight when senders died goes alone.
            SELECT * FROM ordered AS o
            WHERE CASE WHEN o.single THEN o.at = 1 ELSE NOT o.alone END
              AND o.until - cardinality(o.tokens) < most
        ), read AS (
            SELECT o.at, u.at AS place, u.id, t.action, t.account, a.email, a.login, t.code,
                   CASE WHEN octet_length(t.secret) = 32 THEN t.secret END AS secret,
                   coalesce(u.number, 1) AS number, coalesce(u.errors, 0) AS errors,
                   coalesce(o.valid AND u.at <= o.paid, false) AS paid,
                   CASE
                       WHEN t.id IS NULL THEN 'deleted'
                       WHEN t.consumed_at IS NOT NULL THEN 'consumed'
                       WHEN t.expires_at <= floor(extract(epoch FROM looked)) THEN 'expired'
                       WHEN t.action = 'activation' AND a.status = 'provisioned' THEN NULL
                       WHEN t.action = 'password_recovery' AND a.status = 'active' THEN NULL
                       ELSE 'the account is ' || coalesce(a.status::text, 'gone')
                   END AS passed
            FROM used AS o
            CROSS JOIN unnest(o.tokens, o.numbers, o.errors) WITH ORDINALITY AS u (id, number,
            errors, at)
            LEFT JOIN public.tokens AS t ON t.id = u.id
            LEFT JOIN public.accounts AS a ON a.id = t.account
        )
        SELECT f.n, f.until, f.single, f.since, t.list
        INTO from_n, from_end, from_alone, paid_since, due
        FROM (SELECT coalesce(array_agg(u.n ORDER BY u.at), '{}') AS n,
                     coalesce(bool_or(u.single), false) AS single,
                     min(u.paid_at) FILTER (WHERE u.valid AND u.paid > 0) AS since,
                     coalesce(array_agg(u.until::int ORDER BY u.at), '{}') AS until
                         FROM used AS u) AS f,
             (SELECT coalesce(array_agg(ROW(0, 0, '0', r.id, r.action, r.account, r.email,
             r.login,
                         r.secret, r.code, r.number, r.errors, r.paid,
                         coalesce(r.passed, d.why),
                         r.passed IS NULL AND d.why IS NOT NULL)::public.mailroom_token
                         ORDER BY r.at, r.place), '{}') AS list
              FROM read AS r,
                   public.mailroom_unsendable(r.action, r.email, r.login, r.secret,
                   r.code) AS d (why)) AS t;
    END IF;
    IF cardinality(from_n) > 0 AND (again IS NOT NULL OR from_alone) THEN
        fewest := 1;
    END IF;
    -- A lower lane goes first if its oldest token has waited for the bound. Times of tokens
    -- are whole seconds, rounded to the nearest. A lane of which none of the tokens looked at
    -- can be sent goes first, too, because one that has aged may stand behind them.
    IF aged THEN
        FOR lane_ IN REVERSE lanes .. 2 LOOP
            IF (SELECT count(*) > 0
                AND coalesce(min(w.created_at) FILTER (WHERE w.passed IS NULL), 0)
                       + 0.5 + ageing_s <= extract(epoch FROM clock_timestamp())
                FROM (SELECT b.created_at, b.passed FROM public.mailroom_walk(q, 1, lane_,
                          floor(extract(epoch FROM looked))::bigint) AS b
                      LIMIT wanted) AS w) THEN
                first_lane := lane_;
            END IF;
        END LOOP;
    END IF;
    IF per_s > 0 AND current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'local', true); -- what is paid stays paid
    END IF;

    -- A take may move the cursor of another lane alone, so with lanes the look is never good.
    IF moves IS DISTINCT FROM cur.n OR cardinality(waits) > 0 OR lanes > 1 THEN
        seen := public.mailroom_examine(q, first_lane, wanted,
            CASE WHEN from_alone THEN 0 ELSE most END, due);
    END IF;
    IF per_s > 0 AND seen.n >= fewest THEN
        paid := (SELECT count(*) FROM unnest(seen.list) AS t WHERE t.passed IS NULL AND t.paid);
        IF seen.n > paid THEN
            SELECT s.granted + paid, nullif(s.wait_ms, 0) INTO granted, wait_ms
            FROM public.mailroom_spend(queue, seen.n - paid, per_s, burst, daily) AS s;
            -- By this clock the budget is kept, however long the rest takes.
            moment := (SELECT b.at FROM public.budgets AS b WHERE b.queue = q);
        END IF;
    END IF;
    taken := CASE WHEN seen.n < fewest THEN 0
                  ELSE least(seen.n, granted) END;
    upto := CASE WHEN taken = seen.n THEN cardinality(seen.list)
                 WHEN taken > 0 THEN public.mailroom_place(seen.list, taken)
                 -- Nothing is taken, but what stands before the first that can be sent is passed.
                 ELSE public.mailroom_place(seen.list, 1) - 1 END;
    every := taken = seen.n AND seen.ended;

    -- Where the take went on to another lane, nothing is left of the lane before.
    IF lanes > 1 THEN
        places := ARRAY(SELECT max(t.ordinality)
            FROM unnest(seen.list[:upto]) WITH ORDINALITY AS t WHERE t.lane > 0 GROUP BY t.lane);
    ELSIF upto > cardinality(due) THEN
        places := ARRAY[upto];
    END IF;
    FOREACH at IN ARRAY coalesce(places, '{}') LOOP
        last := seen.list[at];
        emptied := every OR at < upto;
        IF lanes > 1 THEN
            SELECT c.ctid AS at, c.n, c.seen, c.tick INTO cur FROM public.cursors AS c
            WHERE c.queue = q AND c.lane = last.lane ORDER BY c.n DESC LIMIT 1;
        END IF;
        cur.seen := CASE WHEN emptied THEN seen.tick
                         WHEN last.part = 2 THEN cur.tick ELSE cur.seen END;
        cur.tick := CASE WHEN emptied OR last.part = 2 THEN seen.tick ELSE cur.tick END;
        -- The row's place finds it. To find it by its key, the planner might walk all earlier
        -- versions.
        UPDATE public.cursors AS c SET n = c.n + 1, written = pg_current_xact_id(), seen = cur.seen,
            tick = cur.tick, xid = last.xid, id = last.id
        WHERE c.ctid = cur.at
        RETURNING c.xmin::text::bigint = c.written::text::bigint & 4294967295 INTO whole;
        IF whole IS NOT TRUE THEN
            PERFORM public.mailroom_refuse(
                'mailroom_take was called in a savepoint, or in a block with EXCEPTION');
        END IF;
    END LOOP;

    sendable := seen.list;
    ids := seen.ids;
    IF upto > taken OR taken = 0 OR cardinality(due) > 0 THEN
        SELECT count(*) FILTER (WHERE t.passed = 'expired'), count(*)
            FILTER (WHERE t.passed = 'consumed'),
               count(*) FILTER (WHERE t.dead),
               count(*) FILTER (WHERE NOT t.dead AND t.passed NOT IN ('expired', 'consumed'))
        INTO expired, consumed, errors, others
        FROM unnest(seen.list[:upto]) AS t WHERE t.passed IS NOT NULL;
        INSERT INTO public.dead_letters (token, account, action, reason)
        SELECT t.id, t.account, t.action, t.passed FROM unnest(seen.list[:upto]) AS t WHERE t.dead;
        INSERT INTO public.attempts (token, number, run, outcome, text)
        SELECT t.id, t.number, me, CASE WHEN t.dead THEN 'dead' ELSE 'expired' END, t.passed
        FROM unnest(seen.list[:upto]) AS t WHERE t.passed IS NOT NULL AND answers;
        sendable := ARRAY(SELECT t FROM unnest(seen.list) AS t WHERE t.passed IS NULL);
        SELECT array_agg(t.id), array_agg(t.number), array_agg(t.errors),
               bool_or(t.number > 1 OR t.errors > 0)
        INTO ids, tries, failed, tried
        FROM unnest(sendable[:taken]) AS t;
    END IF;
    -- n tokens of the rows that come first are used up, and so many whole rows. The line goes into
    -- the first of them. What it leaves of a longer one others may take, except where the order of
    -- the rows must stay.
    used := least(upto, cardinality(due));
    gone := 1;
    IF used > 0 THEN
        whole_n := (SELECT count(*) FROM unnest(from_end) AS e (until) WHERE e.until <= used);
        IF taken > 0 AND (whole_n > 0 OR epoch IS NOT NULL OR again IS NOT NULL) THEN
            gone := 2;
            UPDATE public.deliveries AS d
            SET owner = me, due = '-infinity', alone = from_alone, nonce = DEFAULT,
                leased_at = CASE WHEN again IS NULL THEN moment ELSE d.leased_at END,
                paid = CASE WHEN per_s > 0 THEN taken END, -- what is left of it is not paid for
                -- What is paid now makes no older payment last longer.
                paid_at = CASE WHEN per_s > 0 THEN coalesce(paid_since, moment) END,
                tokens = ids || d.tokens[used + 1:],
                numbers = CASE WHEN tried OR d.numbers IS NOT NULL
                    THEN tries || coalesce(d.numbers[used + 1:],
                    array_fill(1, ARRAY[greatest(0, from_end[1] - used)])) END,
                errors = CASE WHEN tried OR d.numbers IS NOT NULL
                    THEN failed || coalesce(d.errors[used + 1:],
                    array_fill(0, ARRAY[greatest(0, from_end[1] - used)])) END
            WHERE d.n = from_n[1]
            RETURNING d.n, d.nonce INTO line_n, line_nonce;
            rest := greatest(0, from_end[1] - used);
        END IF;
        DELETE FROM public.deliveries AS d WHERE d.n = ANY (from_n[gone : whole_n]);
        IF whole_n + 1 >= gone THEN
            cut := used - coalesce(from_end[whole_n], 0);
            UPDATE public.deliveries AS d
            SET tokens = d.tokens[cut + 1:], numbers = d.numbers[cut + 1:],
            errors = d.errors[cut + 1:], paid = d.paid - cut
            WHERE d.n = from_n[whole_n + 1] AND cut > 0;
        END IF;
    END IF;
    IF taken > 0 AND gone = 1 THEN
        INSERT INTO public.deliveries (queue, owner, tokens, numbers, errors, alone, leased_at,
            paid_at, paid)
        VALUES (q, me, ids[:taken], CASE WHEN tried THEN tries END,
            CASE WHEN tried THEN failed END, from_alone, moment,
            CASE WHEN per_s > 0 THEN coalesce(paid_since, moment) END,
            CASE WHEN per_s > 0 THEN taken END)
        RETURNING n, nonce INTO line_n, line_nonce;
    END IF;

    more := CASE WHEN taken > 0 THEN from_alone OR NOT every
                 ELSE seen.n > 0 AND upto > 0 OR seen.n = 0 AND NOT seen.ended END;
    IF due_ms IS DISTINCT FROM 0 THEN
        next_due_ms := (SELECT ceil(extract(epoch FROM d.due - clock_timestamp()) * 1000)
            FROM public.deliveries AS d WHERE d.queue = q AND d.owner = 0 AND d.due > looked
            ORDER BY d.due LIMIT 1);
    END IF;
    alone := from_alone;
    RETURN NEXT;
    RETURN QUERY
    SELECT CASE WHEN taken = 0 THEN 3 WHEN t.action = 'activation' THEN 1 ELSE 2 END,
           line_n, line_nonce, t.id,
           t.number, t.errors, t.email, t.login, t.secret, t.code, NULL::bool, NULL::bigint,
           NULL::bigint,
           NULL::bigint, NULL::bigint, NULL::bigint, NULL::bool, NULL::int
    FROM unnest(sendable) AS t LIMIT CASE WHEN taken > 0 THEN taken ELSE fewest END;
    END;
    END IF;
    -- This comes last of all that is read, so that no line of a queue that was lost is returned.
    IF epoch IS NOT NULL THEN
        IF epoch IS DISTINCT FROM (SELECT j.epoch FROM public.jobs AS j WHERE j.job_type = q) THEN
            RAISE object_in_use USING MESSAGE = format('another collector has the queue %s', queue);
        END IF;
    END IF;
END
$$;

CREATE FUNCTION public.mailroom_token_partitions() RETURNS TABLE(part regclass, number bigint)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $_$
    SELECT c.oid::regclass, substring(c.relname FROM '^tokens_(\d+)$')::bigint
    FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'tokens'::regclass
    ORDER BY 2
$_$;

CREATE FUNCTION public.mailroom_unpartition() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    p record;
    whole regclass;
    statement text;
BEGIN
    IF NOT mailroom_is_partitioned() THEN
        RETURN;
    END IF;
    PERFORM mailroom_lock_tables('accounts, tokens', 'ACCESS EXCLUSIVE');
    SET CONSTRAINTS ALL IMMEDIATE;
    FOR p IN SELECT * FROM mailroom_token_partitions() LOOP
        EXECUTE format('ALTER TABLE tokens DETACH PARTITION %s', p.part);
        IF whole IS NULL THEN
            whole := p.part;
            CONTINUE;
        END IF;
        EXECUTE format('INSERT INTO %s SELECT * FROM %s', whole, p.part);
        EXECUTE format('DROP TABLE %s', p.part);
    END LOOP;
    SET CONSTRAINTS ALL IMMEDIATE;
    PERFORM mailroom_partition_exchange(whole, 'tokens_root');
    DROP TABLE tokens_root;
    FOR statement IN
        SELECT format('ALTER INDEX %s RENAME TO %I', indexrelid::regclass,
                   regexp_replace(relname, '^tokens_\d+_', 'tokens_'))
        FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
        WHERE indrelid = 'tokens'::regclass AND relname ~ '^tokens_\d+_'
    LOOP
        EXECUTE statement;
    END LOOP;
END
$$;

CREATE FUNCTION public.mailroom_unsendable(action public.token_action, email character varying, login character varying, secret bytea, code character varying) RETURNS text
    LANGUAGE sql IMMUTABLE
    AS $_$
    SELECT CASE
        WHEN email || ' ' || login COLLATE "C" ~ '[",\x01-\x1f\x7f-\x9f]' THEN
            CASE substring(email || ' ' || login COLLATE "C" FROM '[",\x01-\x1f\x7f-\x9f]')
                WHEN ',' THEN 'comma'
                WHEN '"' THEN 'quote'
                ELSE 'control character'
            END || CASE WHEN email COLLATE "C" ~ '[",\x01-\x1f\x7f-\x9f]'
                THEN ' in email' ELSE ' in login' END
        WHEN secret IS NULL THEN 'secret is not 32 bytes'
        WHEN code IS NULL AND action = 'password_recovery' THEN 'recovery without a code'
        WHEN code !~ '^[0-9]{5}$' THEN 'code is not 5 digits'
    END
$_$;

CREATE FUNCTION public.mailroom_untaken(queue text) RETURNS TABLE(token bigint, xid xid8)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $_$
    SELECT t.id AS token, t.xid AS xid
    FROM jobs AS j, tokens AS t
    WHERE j.job_type::text = queue AND j.mode IS NULL AND (t.xid, t.id) > (j.last_xid, j.last_seq)
    UNION ALL
    SELECT t.id, t.xid
    FROM jobs AS j
    JOIN cursors AS c ON c.queue = j.job_type
    JOIN tokens AS t ON t.action = ANY (c.actions)
    WHERE j.job_type::text = $1 AND j.mode IS NOT NULL
      AND NOT pg_visible_in_snapshot(t.xid, c.seen)
      AND NOT (pg_visible_in_snapshot(t.xid, c.tick) AND (t.xid, t.id) <= (c.xid, c.id))
    ORDER BY xid, token
$_$;

CREATE FUNCTION public.mailroom_walk(q public.job_type, first_lane integer, only_lane integer, clock bigint) RETURNS TABLE(lane integer, part integer, xid xid8, id bigint, action public.token_action, account bigint, email character varying, login character varying, secret bytea, code character varying, created_at bigint, passed text)
    LANGUAGE sql STABLE
    AS $$
    SELECT c.lane::int, w.part, w.xid, w.id, w.action, w.account, w.email, w.login, w.secret,
           w.code, w.created_at, w.passed
    FROM (SELECT c.*
          FROM generate_series(1, cardinality(enum_range(NULL::public.token_action))) AS l (lane),
               LATERAL (SELECT * FROM public.cursors AS x WHERE x.queue = q AND x.lane = l.lane
                        ORDER BY x.n DESC LIMIT 1) AS c -- an old snapshot may keep very many
          WHERE only_lane IS NULL OR l.lane = only_lane
          ORDER BY c.lane <> first_lane, c.lane) AS c
    CROSS JOIN LATERAL public.mailroom_behind(c.actions, c.seen, c.tick, c.xid, c.id,
        public.mailroom_now(), clock) AS w
    OFFSET 0
$$;

CREATE FUNCTION public.token_consumed() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    UPDATE accounts SET status = 'active' WHERE id = NEW.account AND status = 'provisioned';
    RETURN NULL;
END
$$;

CREATE FUNCTION public.token_inserted() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    PERFORM pg_notify('token_insert', NEW.id::text);
    RETURN NULL;
END
$$;

CREATE FUNCTION public.token_numbered() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    NEW.xid := pg_current_xact_id();
    RETURN NEW;
END
$$;

CREATE FUNCTION public.token_rings() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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
$$;

CREATE FUNCTION public.tokens_truncated() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    DELETE FROM public.deliveries;
    RETURN NULL;
END
$$;

CREATE TABLE public.accounts (
    id bigint NOT NULL,
    email character varying(254) NOT NULL,
    status public.account_status DEFAULT 'provisioned'::public.account_status NOT NULL,
    login character varying(254) NOT NULL,
    created_at bigint DEFAULT EXTRACT(epoch FROM now()) NOT NULL,
    status_changed_at bigint,
    activated_at bigint,
    suspended_at bigint,
    unsuspended_at bigint
);

CREATE SEQUENCE public.accounts_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER SEQUENCE public.accounts_id_seq OWNED BY public.accounts.id;

CREATE TABLE public.attempts (
    token bigint NOT NULL,
    number integer NOT NULL,
    run bigint NOT NULL,
    leased timestamp with time zone,
    ended timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    outcome text NOT NULL,
    text text,
    nonce bigint,
    CONSTRAINT attempts_outcome_check CHECK ((outcome = ANY (ARRAY['sent'::text, 'transient'::text, 'dead'::text, 'expired'::text, 'returned'::text, 'lost'::text, 'late'::text, 'retried'::text])))
)
PARTITION BY RANGE (ended);

CREATE TABLE public.attempts_rest (
    token bigint NOT NULL,
    number integer NOT NULL,
    run bigint NOT NULL,
    leased timestamp with time zone,
    ended timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    outcome text NOT NULL,
    text text,
    nonce bigint,
    CONSTRAINT attempts_outcome_check CHECK ((outcome = ANY (ARRAY['sent'::text, 'transient'::text, 'dead'::text, 'expired'::text, 'returned'::text, 'lost'::text, 'late'::text, 'retried'::text])))
);

CREATE TABLE public.budgets (
    queue public.job_type NOT NULL,
    left_ double precision NOT NULL,
    at timestamp with time zone NOT NULL,
    day date NOT NULL,
    today bigint NOT NULL
);

CREATE TABLE public.cursors (
    queue public.job_type NOT NULL,
    lane smallint DEFAULT 1 NOT NULL,
    n bigint DEFAULT 0 NOT NULL,
    actions public.token_action[] DEFAULT enum_range(NULL::public.token_action) NOT NULL,
    seen pg_snapshot DEFAULT '1:1:'::pg_snapshot NOT NULL,
    tick pg_snapshot DEFAULT '1:1:'::pg_snapshot NOT NULL,
    xid xid8 DEFAULT '0'::xid8 NOT NULL,
    id bigint DEFAULT 0 NOT NULL,
    written xid8
);

CREATE TABLE public.dead_letters (
    id bigint NOT NULL,
    token bigint NOT NULL,
    account bigint NOT NULL,
    action public.token_action NOT NULL,
    reason text NOT NULL,
    created_at bigint DEFAULT EXTRACT(epoch FROM now()) NOT NULL
);

CREATE SEQUENCE public.dead_letters_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER SEQUENCE public.dead_letters_id_seq OWNED BY public.dead_letters.id;

CREATE TABLE public.deliveries (
    n bigint NOT NULL,
    queue public.job_type NOT NULL,
    owner bigint NOT NULL,
    tokens bigint[] NOT NULL,
    numbers integer[],
    errors integer[],
    alone boolean DEFAULT false NOT NULL,
    due timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL,
    leased_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    nonce bigint DEFAULT hashtextextended((gen_random_uuid())::text, (0)::bigint) NOT NULL,
    paid_at timestamp with time zone,
    paid integer
);
ALTER TABLE ONLY public.deliveries ALTER COLUMN tokens SET STORAGE EXTERNAL;

ALTER TABLE public.deliveries ALTER COLUMN n ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.deliveries_n_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.jobs (
    job_type public.job_type NOT NULL,
    last_seq bigint,
    last_xid xid8 DEFAULT '0'::xid8 NOT NULL,
    epoch bigint DEFAULT 0 NOT NULL,
    holder text,
    cluster text,
    mode text,
    renewed bigint DEFAULT 0 NOT NULL,
    CONSTRAINT jobs_mode_check CHECK ((mode = ANY (ARRAY['cursor'::text, 'shared'::text, 'leased'::text])))
);

CREATE TABLE public.tokens (
    id bigint NOT NULL,
    action public.token_action NOT NULL,
    secret bytea DEFAULT public.gen_random_bytes(32) NOT NULL,
    code character varying(5) DEFAULT lpad(((((('x'::text || encode(public.gen_random_bytes(6), 'hex'::text)))::bit(48))::bigint % (100000)::bigint))::text, 5, '0'::text),
    account bigint NOT NULL,
    expires_at bigint DEFAULT EXTRACT(epoch FROM (now() + '00:15:00'::interval)) NOT NULL,
    consumed_at bigint,
    created_at bigint DEFAULT EXTRACT(epoch FROM now()) NOT NULL,
    xid xid8 DEFAULT pg_current_xact_id() NOT NULL
);

CREATE VIEW public.mailroom_status AS
 WITH held AS (
         SELECT u.t AS token,
            COALESCE(d.numbers[u.at], 1) AS number,
            (d.owner <> 0) AS leased,
            d.due
           FROM public.deliveries d,
            LATERAL unnest(d.tokens) WITH ORDINALITY u(t, at)
        )
 SELECT t.id AS token,
        CASE
            WHEN ((h.token IS NOT NULL) AND (a.number IS DISTINCT FROM h.number)) THEN
            CASE
                WHEN h.leased THEN 'leased'::text
                WHEN (h.number > 1) THEN 'retry'::text
                ELSE 'scheduled'::text
            END
            WHEN (a.outcome IS NULL) THEN 'scheduled'::text
            WHEN (a.outcome = 'lost'::text) THEN 'abandoned'::text
            ELSE a.outcome
        END AS state,
    COALESCE(a.number, 0) AS attempts,
    a.text AS last_text,
    a.ended AS last_at,
    h.due
   FROM ((public.tokens t
     LEFT JOIN held h ON ((h.token = t.id)))
     LEFT JOIN LATERAL ( SELECT x.token,
            x.number,
            x.run,
            x.leased,
            x.ended,
            x.outcome,
            x.text,
            x.nonce
           FROM public.attempts x
          WHERE ((x.token = t.id) AND (x.outcome <> 'late'::text))
          ORDER BY x.number DESC, x.ended DESC
         LIMIT 1) a ON (true));

CREATE VIEW public.mailroom_totals AS
 SELECT 'scheduled'::text AS state,
    count(*) AS tokens,
    (0)::bigint AS attempts,
    to_timestamp((min(t.created_at))::double precision) AS oldest
   FROM public.jobs j,
    (LATERAL public.mailroom_untaken((j.job_type)::text) u(token, xid)
     JOIN public.tokens t ON ((t.id = u.token)))
UNION ALL
 SELECT
        CASE
            WHEN (d.owner = 0) THEN 'retry'::text
            ELSE 'leased'::text
        END AS state,
    count(*) AS tokens,
    sum((COALESCE(d.numbers[u.at], 1) - 1)) AS attempts,
    min(d.leased_at) AS oldest
   FROM public.deliveries d,
    LATERAL unnest(d.tokens) WITH ORDINALITY u(token, at)
  GROUP BY
        CASE
            WHEN (d.owner = 0) THEN 'retry'::text
            ELSE 'leased'::text
        END
UNION ALL
 SELECT
        CASE attempts.outcome
            WHEN 'lost'::text THEN 'abandoned'::text
            ELSE attempts.outcome
        END AS state,
    count(DISTINCT attempts.token) AS tokens,
    count(*) AS attempts,
    min(attempts.ended) AS oldest
   FROM public.attempts
  WHERE (attempts.ended >= (date_trunc('day'::text, (clock_timestamp() AT TIME ZONE 'UTC'::text)) AT TIME ZONE 'UTC'::text))
  GROUP BY
        CASE attempts.outcome
            WHEN 'lost'::text THEN 'abandoned'::text
            ELSE attempts.outcome
        END;

CREATE TABLE public.owners (
    queue public.job_type NOT NULL,
    owner bigint NOT NULL,
    renewed bigint DEFAULT 0 NOT NULL
);

CREATE TABLE public.runs (
    run bigint NOT NULL,
    event text NOT NULL,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    queue public.job_type NOT NULL,
    host text,
    version text,
    settings text,
    how text,
    tokens bigint,
    CONSTRAINT runs_event_check CHECK ((event = ANY (ARRAY['started'::text, 'ended'::text])))
);

CREATE SEQUENCE public.tokens_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER SEQUENCE public.tokens_id_seq OWNED BY public.tokens.id;

ALTER TABLE ONLY public.attempts ATTACH PARTITION public.attempts_rest DEFAULT;

ALTER TABLE ONLY public.accounts ALTER COLUMN id SET DEFAULT nextval('public.accounts_id_seq'::regclass);

ALTER TABLE ONLY public.dead_letters ALTER COLUMN id SET DEFAULT nextval('public.dead_letters_id_seq'::regclass);

ALTER TABLE ONLY public.tokens ALTER COLUMN id SET DEFAULT nextval('public.tokens_id_seq'::regclass);

ALTER TABLE ONLY public.accounts
    ADD CONSTRAINT accounts_email_key UNIQUE (email);

ALTER TABLE ONLY public.accounts
    ADD CONSTRAINT accounts_login_key UNIQUE (login);

ALTER TABLE ONLY public.accounts
    ADD CONSTRAINT accounts_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.budgets
    ADD CONSTRAINT budgets_pkey PRIMARY KEY (queue);

ALTER TABLE ONLY public.cursors
    ADD CONSTRAINT cursors_pkey PRIMARY KEY (queue, lane, n);

ALTER TABLE ONLY public.dead_letters
    ADD CONSTRAINT dead_letters_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.deliveries
    ADD CONSTRAINT deliveries_pkey PRIMARY KEY (n);

ALTER TABLE ONLY public.jobs
    ADD CONSTRAINT jobs_pkey PRIMARY KEY (job_type);

ALTER TABLE ONLY public.owners
    ADD CONSTRAINT owners_pkey PRIMARY KEY (queue, owner);

ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT tokens_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT tokens_secret_key UNIQUE (secret);

CREATE INDEX attempts_token_idx ON ONLY public.attempts USING btree (token, number);

CREATE INDEX attempts_rest_token_number_idx ON public.attempts_rest USING btree (token, number);

CREATE INDEX dead_letters_token_idx ON public.dead_letters USING btree (token);

CREATE INDEX deliveries_due_idx ON public.deliveries USING btree (queue, due, n) WHERE (owner = 0);

CREATE INDEX deliveries_owner_idx ON public.deliveries USING btree (queue, owner, n);

CREATE INDEX runs_at_idx ON public.runs USING btree (at);

CREATE INDEX tokens_account_idx ON public.tokens USING btree (account);

CREATE INDEX tokens_action_xid_id_idx ON public.tokens USING btree (action, xid, id);

ALTER INDEX public.attempts_token_idx ATTACH PARTITION public.attempts_rest_token_number_idx;

CREATE TRIGGER account_change_status BEFORE UPDATE OF status ON public.accounts FOR EACH ROW WHEN ((old.status IS DISTINCT FROM new.status)) EXECUTE FUNCTION public.account_change_status();

CREATE TRIGGER account_check_sendable BEFORE INSERT OR UPDATE OF email, login ON public.accounts FOR EACH ROW EXECUTE FUNCTION public.account_check_sendable();

CREATE TRIGGER account_provision AFTER INSERT ON public.accounts FOR EACH ROW WHEN ((new.status = 'provisioned'::public.account_status)) EXECUTE FUNCTION public.account_provision();

CREATE TRIGGER token_consumed AFTER UPDATE OF consumed_at ON public.tokens FOR EACH ROW WHEN (((new.action = 'activation'::public.token_action) AND (old.consumed_at IS NULL) AND (new.consumed_at IS NOT NULL))) EXECUTE FUNCTION public.token_consumed();

CREATE TRIGGER token_inserted AFTER INSERT ON public.tokens FOR EACH ROW EXECUTE FUNCTION public.token_inserted();

CREATE TRIGGER token_numbered BEFORE INSERT ON public.tokens FOR EACH ROW WHEN ((new.xid IS DISTINCT FROM pg_current_xact_id())) EXECUTE FUNCTION public.token_numbered();

ALTER TABLE public.tokens ENABLE ALWAYS TRIGGER token_numbered;

CREATE TRIGGER token_rings AFTER INSERT ON public.tokens FOR EACH ROW EXECUTE FUNCTION public.token_rings('1273703367821015830');

ALTER TABLE public.tokens DISABLE TRIGGER token_rings;

CREATE TRIGGER tokens_truncated AFTER TRUNCATE ON public.tokens FOR EACH STATEMENT EXECUTE FUNCTION public.tokens_truncated();

ALTER TABLE ONLY public.budgets
    ADD CONSTRAINT budgets_queue_fkey FOREIGN KEY (queue) REFERENCES public.jobs(job_type) ON DELETE CASCADE;

ALTER TABLE ONLY public.cursors
    ADD CONSTRAINT cursors_queue_fkey FOREIGN KEY (queue) REFERENCES public.jobs(job_type) ON DELETE CASCADE;

ALTER TABLE ONLY public.owners
    ADD CONSTRAINT owners_queue_fkey FOREIGN KEY (queue) REFERENCES public.jobs(job_type) ON DELETE CASCADE;

ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT tokens_account_fkey FOREIGN KEY (account) REFERENCES public.accounts(id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED;

GRANT USAGE ON SCHEMA public TO mailroom_owner;

REVOKE ALL ON FUNCTION public.mailroom_announce(how text) FROM PUBLIC;

REVOKE ALL ON FUNCTION public.mailroom_behind(actions public.token_action[], seen pg_snapshot, tick pg_snapshot, xid xid8, id bigint, now pg_snapshot, clock bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION public.mailroom_behind(actions public.token_action[], seen pg_snapshot, tick pg_snapshot, xid xid8, id bigint, now pg_snapshot, clock bigint) TO mailroom_owner;

REVOKE ALL ON FUNCTION public.mailroom_bell() FROM PUBLIC;
GRANT ALL ON FUNCTION public.mailroom_bell() TO mailroom_collector;

REVOKE ALL ON FUNCTION public.mailroom_bury(token bigint, reason text) FROM PUBLIC;

REVOKE ALL ON FUNCTION public.mailroom_clamp(now pg_snapshot, own xid8) FROM PUBLIC;
GRANT ALL ON FUNCTION public.mailroom_clamp(now pg_snapshot, own xid8) TO mailroom_owner;

REVOKE ALL ON FUNCTION public.mailroom_cluster() FROM PUBLIC;
GRANT ALL ON FUNCTION public.mailroom_cluster() TO mailroom_collector;

REVOKE ALL ON FUNCTION public.mailroom_ended(a pg_snapshot, b pg_snapshot) FROM PUBLIC;
GRANT ALL ON FUNCTION public.mailroom_ended(a pg_snapshot, b pg_snapshot) TO mailroom_owner;

REVOKE ALL ON FUNCTION public.mailroom_examine(q public.job_type, first_lane integer, room integer, most integer, INOUT list public.mailroom_token[], OUT ids bigint[], OUT n integer, OUT ended boolean, OUT tick pg_snapshot) FROM PUBLIC;
GRANT ALL ON FUNCTION public.mailroom_examine(q public.job_type, first_lane integer, room integer, most integer, INOUT list public.mailroom_token[], OUT ids bigint[], OUT n integer, OUT ended boolean, OUT tick pg_snapshot) TO mailroom_owner;

REVOKE ALL ON FUNCTION public.mailroom_forget(older interval) FROM PUBLIC;

REVOKE ALL ON FUNCTION public.mailroom_forget_tokens(older interval) FROM PUBLIC;

REVOKE ALL ON FUNCTION public.mailroom_is_partitioned() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.mailroom_lanes(lanes text, queue text) FROM PUBLIC;

REVOKE ALL ON FUNCTION public.mailroom_lock_key(queue text, what text) FROM PUBLIC;
GRANT ALL ON FUNCTION public.mailroom_lock_key(queue text, what text) TO mailroom_collector;
GRANT ALL ON FUNCTION public.mailroom_lock_key(queue text, what text) TO mailroom_owner;

REVOKE ALL ON FUNCTION public.mailroom_lock_tables(tables text, lock_mode text) FROM PUBLIC;

REVOKE ALL ON FUNCTION public.mailroom_locks() FROM PUBLIC;
GRANT ALL ON FUNCTION public.mailroom_locks() TO mailroom_owner;

REVOKE ALL ON FUNCTION public.mailroom_moved(queue text) FROM PUBLIC;
GRANT ALL ON FUNCTION public.mailroom_moved(queue text) TO mailroom_collector;

REVOKE ALL ON FUNCTION public.mailroom_now() FROM PUBLIC;
GRANT ALL ON FUNCTION public.mailroom_now() TO mailroom_owner;

REVOKE ALL ON PROCEDURE public.mailroom_partition() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.mailroom_partition_attach() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.mailroom_partition_bound() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.mailroom_partition_exchange(into_ regclass, old_name text) FROM PUBLIC;

REVOKE ALL ON FUNCTION public.mailroom_partition_hangings() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.mailroom_partition_next() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.mailroom_partition_now() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.mailroom_partition_obstacles() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.mailroom_partition_schema() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.mailroom_partition_validate() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.mailroom_partition_waits(part regclass, number bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION public.mailroom_partition_width() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.mailroom_partitions() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.mailroom_peers(queue text, owner bigint, mode text, holder text, epoch bigint, renew boolean, over text, hung bigint, settle boolean, gone bigint[], counters bigint[], hangs boolean[], leave text, host text, version text, settings text, written bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION public.mailroom_peers(queue text, owner bigint, mode text, holder text, epoch bigint, renew boolean, over text, hung bigint, settle boolean, gone bigint[], counters bigint[], hangs boolean[], leave text, host text, version text, settings text, written bigint) TO mailroom_collector;

REVOKE ALL ON FUNCTION public.mailroom_place(list public.mailroom_token[], n bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION public.mailroom_place(list public.mailroom_token[], n bigint) TO mailroom_owner;

REVOKE ALL ON FUNCTION public.mailroom_protocol() FROM PUBLIC;
GRANT ALL ON FUNCTION public.mailroom_protocol() TO mailroom_collector;

REVOKE ALL ON FUNCTION public.mailroom_read(queue text, epoch bigint, wanted integer, behind text) FROM PUBLIC;
GRANT ALL ON FUNCTION public.mailroom_read(queue text, epoch bigint, wanted integer, behind text) TO mailroom_collector;

REVOKE ALL ON FUNCTION public.mailroom_refuse(why text) FROM PUBLIC;
GRANT ALL ON FUNCTION public.mailroom_refuse(why text) TO mailroom_owner;

REVOKE ALL ON FUNCTION public.mailroom_release(q public.job_type, gone bigint, mode text, how text) FROM PUBLIC;
GRANT ALL ON FUNCTION public.mailroom_release(q public.job_type, gone bigint, mode text, how text) TO mailroom_owner;

REVOKE ALL ON FUNCTION public.mailroom_retry(token bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION public.mailroom_secure() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.mailroom_settle(queue text, new_mode text) FROM PUBLIC;
GRANT ALL ON FUNCTION public.mailroom_settle(queue text, new_mode text) TO mailroom_collector;

REVOKE ALL ON FUNCTION public.mailroom_settle_lines(queue text, owner bigint, lines bigint[], nonces bigint[], outcome text, ends bigint[], dead_tokens bigint[], dead_reasons text[], place text, tokens bigint[], numbers integer[], outcomes text[], texts text[], delays_ms bigint[], alones boolean[], in_doubt bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.mailroom_settle_lines(queue text, owner bigint, lines bigint[], nonces bigint[], outcome text, ends bigint[], dead_tokens bigint[], dead_reasons text[], place text, tokens bigint[], numbers integer[], outcomes text[], texts text[], delays_ms bigint[], alones boolean[], in_doubt bigint[]) TO mailroom_collector;

REVOKE ALL ON FUNCTION public.mailroom_spend(queue text, wanted integer, per_s double precision, burst double precision, daily bigint, OUT granted integer, OUT wait_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION public.mailroom_spend(queue text, wanted integer, per_s double precision, burst double precision, daily bigint, OUT granted integer, OUT wait_ms bigint) TO mailroom_collector;

REVOKE ALL ON FUNCTION public.mailroom_suspect(names text, codes text) FROM PUBLIC;
GRANT ALL ON FUNCTION public.mailroom_suspect(names text, codes text) TO mailroom_owner;

REVOKE ALL ON FUNCTION public.mailroom_switch_mode(queue text, new_mode text) FROM PUBLIC;

REVOKE ALL ON FUNCTION public.mailroom_take(queue text, owner bigint, epoch bigint, wanted integer, fewest integer, lines integer, answers boolean, again bigint[], due_ms bigint, per_s double precision, burst double precision, daily bigint, aged boolean, ageing_s integer) FROM PUBLIC;
GRANT ALL ON FUNCTION public.mailroom_take(queue text, owner bigint, epoch bigint, wanted integer, fewest integer, lines integer, answers boolean, again bigint[], due_ms bigint, per_s double precision, burst double precision, daily bigint, aged boolean, ageing_s integer) TO mailroom_collector;

REVOKE ALL ON FUNCTION public.mailroom_token_partitions() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.mailroom_unpartition() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.mailroom_unsendable(action public.token_action, email character varying, login character varying, secret bytea, code character varying) FROM PUBLIC;
GRANT ALL ON FUNCTION public.mailroom_unsendable(action public.token_action, email character varying, login character varying, secret bytea, code character varying) TO mailroom_owner;

REVOKE ALL ON FUNCTION public.mailroom_untaken(queue text) FROM PUBLIC;
GRANT ALL ON FUNCTION public.mailroom_untaken(queue text) TO mailroom_owner;

REVOKE ALL ON FUNCTION public.mailroom_walk(q public.job_type, first_lane integer, only_lane integer, clock bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION public.mailroom_walk(q public.job_type, first_lane integer, only_lane integer, clock bigint) TO mailroom_owner;

REVOKE ALL ON FUNCTION public.token_numbered() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.tokens_truncated() FROM PUBLIC;

GRANT SELECT(id) ON TABLE public.accounts TO mailroom_collector;
GRANT SELECT(id) ON TABLE public.accounts TO mailroom_owner;

GRANT SELECT(email) ON TABLE public.accounts TO mailroom_collector;
GRANT SELECT(email) ON TABLE public.accounts TO mailroom_owner;

GRANT SELECT(status) ON TABLE public.accounts TO mailroom_collector;
GRANT SELECT(status) ON TABLE public.accounts TO mailroom_owner;

GRANT SELECT(login) ON TABLE public.accounts TO mailroom_collector;
GRANT SELECT(login) ON TABLE public.accounts TO mailroom_owner;

GRANT SELECT,INSERT ON TABLE public.attempts TO mailroom_owner;

GRANT SELECT ON TABLE public.budgets TO mailroom_collector;
GRANT SELECT,INSERT,UPDATE ON TABLE public.budgets TO mailroom_owner;

GRANT SELECT ON TABLE public.cursors TO mailroom_collector;
GRANT SELECT ON TABLE public.cursors TO mailroom_owner;

GRANT UPDATE(n) ON TABLE public.cursors TO mailroom_collector;
GRANT UPDATE(n) ON TABLE public.cursors TO mailroom_owner;

GRANT UPDATE(seen) ON TABLE public.cursors TO mailroom_collector;
GRANT UPDATE(seen) ON TABLE public.cursors TO mailroom_owner;

GRANT UPDATE(tick) ON TABLE public.cursors TO mailroom_collector;
GRANT UPDATE(tick) ON TABLE public.cursors TO mailroom_owner;

GRANT UPDATE(xid) ON TABLE public.cursors TO mailroom_collector;
GRANT UPDATE(xid) ON TABLE public.cursors TO mailroom_owner;

GRANT UPDATE(id) ON TABLE public.cursors TO mailroom_collector;
GRANT UPDATE(id) ON TABLE public.cursors TO mailroom_owner;

GRANT UPDATE(written) ON TABLE public.cursors TO mailroom_collector;
GRANT UPDATE(written) ON TABLE public.cursors TO mailroom_owner;

GRANT INSERT ON TABLE public.dead_letters TO mailroom_collector;
GRANT INSERT ON TABLE public.dead_letters TO mailroom_owner;

GRANT USAGE ON SEQUENCE public.dead_letters_id_seq TO mailroom_collector;
GRANT USAGE ON SEQUENCE public.dead_letters_id_seq TO mailroom_owner;

GRANT SELECT,INSERT,DELETE ON TABLE public.deliveries TO mailroom_collector;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.deliveries TO mailroom_owner;

GRANT UPDATE(owner) ON TABLE public.deliveries TO mailroom_collector;

GRANT UPDATE(tokens) ON TABLE public.deliveries TO mailroom_collector;

GRANT SELECT ON TABLE public.jobs TO mailroom_collector;
GRANT SELECT ON TABLE public.jobs TO mailroom_owner;

GRANT UPDATE(last_seq) ON TABLE public.jobs TO mailroom_collector;
GRANT UPDATE(last_seq) ON TABLE public.jobs TO mailroom_owner;

GRANT UPDATE(last_xid) ON TABLE public.jobs TO mailroom_collector;

GRANT UPDATE(epoch) ON TABLE public.jobs TO mailroom_collector;
GRANT UPDATE(epoch) ON TABLE public.jobs TO mailroom_owner;

GRANT UPDATE(holder) ON TABLE public.jobs TO mailroom_collector;
GRANT UPDATE(holder) ON TABLE public.jobs TO mailroom_owner;

GRANT UPDATE(cluster) ON TABLE public.jobs TO mailroom_owner;

GRANT UPDATE(mode) ON TABLE public.jobs TO mailroom_owner;

GRANT UPDATE(renewed) ON TABLE public.jobs TO mailroom_collector;
GRANT UPDATE(renewed) ON TABLE public.jobs TO mailroom_owner;

GRANT SELECT ON TABLE public.tokens TO mailroom_collector;
GRANT SELECT ON TABLE public.tokens TO mailroom_owner;

GRANT UPDATE(xid) ON TABLE public.tokens TO mailroom_owner;

GRANT SELECT,INSERT,DELETE ON TABLE public.owners TO mailroom_collector;
GRANT SELECT,INSERT,DELETE ON TABLE public.owners TO mailroom_owner;

GRANT UPDATE(renewed) ON TABLE public.owners TO mailroom_collector;
GRANT UPDATE(renewed) ON TABLE public.owners TO mailroom_owner;

GRANT INSERT ON TABLE public.runs TO mailroom_owner;

