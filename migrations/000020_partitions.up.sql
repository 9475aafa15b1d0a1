-- Mends: the table tokens grew for ever, and old rows could be deleted only one
-- by one.
--
--     CALL mailroom_partition();                   -- begins a new partition
--     SELECT mailroom_forget_tokens('7 days');     -- drops those that ended before
--
-- Administrators call both once a day or once an hour, while everything runs.
-- The first call turns the table into a partitioned one, and the old table
-- becomes its first partition; nothing is copied. Without that call the table
-- stays a plain one.
--
-- A partition is a range of ids, 10,000,000,000 of them, and the sequence jumps
-- to the next range when a new one begins. So partitions follow time, the id
-- stays a primary key, and a search by id finds its partition. No partition
-- ever has to be split, and none has to be made in advance for a certain time.
-- The cursor's order is (xid, id): the server reads the index of each partition
-- and merges the rows.
--
-- One thing is lost: `secret` is unique within each partition only, because a unique
-- index over several partitions would have to contain the id.
--
-- No table is locked for longer than its catalog entries take to change. A call
-- waits for such a lock for no longer than 200 ms at a time, because all others
-- queue behind it, and then tries again.

BEGIN;

CREATE FUNCTION mailroom_lock_tables(tables text, lock_mode text) RETURNS void
LANGUAGE plpgsql SET lock_timeout = '200ms' AS $$
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

CREATE FUNCTION mailroom_partition_width() RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$ SELECT 10000000000 $$;

-- Returns the number of the partition to which the next token goes.
CREATE FUNCTION mailroom_partition_now() RETURNS bigint
LANGUAGE sql AS $$
    SELECT (last_value + CASE WHEN is_called THEN 1 ELSE 0 END) / mailroom_partition_width() + 1
    FROM tokens_id_seq
$$;

CREATE FUNCTION mailroom_is_partitioned() RETURNS bool
LANGUAGE sql STABLE AS $$ SELECT relkind = 'p' FROM pg_class WHERE oid = 'tokens'::regclass $$;

-- Returns the schema in which new tables are to be made. These functions cannot rely on
-- their search path for it, because that begins with pg_catalog.
CREATE FUNCTION mailroom_partition_schema() RETURNS regnamespace
LANGUAGE sql STABLE AS $$ SELECT relnamespace FROM pg_class WHERE oid = 'tokens'::regclass $$;

-- Returns all partitions, the oldest first.
CREATE FUNCTION mailroom_token_partitions() RETURNS TABLE (part regclass, number bigint)
LANGUAGE sql STABLE AS $$
    SELECT c.oid::regclass, substring(c.relname FROM '^tokens_(\d+)$')::bigint
    FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'tokens'::regclass
    ORDER BY 2
$$;

-- Names everything that would not follow when another table takes the place of
-- `tokens`.
CREATE FUNCTION mailroom_partition_obstacles() RETURNS text
LANGUAGE sql STABLE AS $$
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

-- Returns the statements that give a new table `tokens` what depends on the present one: triggers
-- and whether they are enabled, rights, views. They name tables, so they apply to the table that
-- has the name `tokens` then.
CREATE FUNCTION mailroom_partition_hangings() RETURNS SETOF text
LANGUAGE sql STABLE AS $$
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

-- Gives `into` the name `tokens`, gives the present table another name, and carries over what
-- depends on it. The caller has both tables locked.
CREATE FUNCTION mailroom_partition_exchange(into_ regclass, old_name text) RETURNS void
LANGUAGE plpgsql AS $$
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

-- The first step: from here on no id may lie beyond the first partition. The sequence is
-- far from that bound.
CREATE FUNCTION mailroom_partition_bound() RETURNS void
LANGUAGE plpgsql AS $$
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

-- The second step reads the whole table, while others go on.
CREATE FUNCTION mailroom_partition_validate() RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    ALTER TABLE tokens VALIDATE CONSTRAINT tokens_bound;
END
$$;

-- The third step: the table becomes a partition. It has the indexes and the foreign key
-- that the new table requires, so PostgreSQL uses these, and the constraint proves that its
-- rows are within the bound. So PostgreSQL builds no index and reads no row.
CREATE FUNCTION mailroom_partition_attach() RETURNS void
LANGUAGE plpgsql AS $$
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

-- The last step of the first call, and the only step of later ones. It makes the next partitions
-- and moves the sequence to the next one, unless the present one has no token yet.
CREATE FUNCTION mailroom_partition_next() RETURNS void
LANGUAGE plpgsql AS $$
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

-- Makes partitions. It commits after each step, so it cannot be called within a
-- transaction. After an interruption, call it again.
CREATE PROCEDURE mailroom_partition() LANGUAGE plpgsql AS $$
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

-- Returns whether a partition has a token that no cursor has taken, or that was taken
-- and is not confirmed. A snapshot shows every transaction below its xmin, so only the end
-- of each index, from that xmin on, is looked at.
CREATE FUNCTION mailroom_partition_waits(part regclass, number bigint) RETURNS bool
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off AS $$
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
$$;

-- Drops the partitions of which all tokens are older than that, the oldest partition
-- first. It stops before the first partition with a token that is younger or still
-- waits. The present partition stays in any case. Returns how many were dropped.
CREATE FUNCTION mailroom_forget_tokens(older interval) RETURNS int
LANGUAGE plpgsql AS $$
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

-- Makes one plain table again: copies the rows of the younger partitions into the
-- oldest. Nobody can use the table meanwhile.
CREATE FUNCTION mailroom_unpartition() RETURNS void
LANGUAGE plpgsql AS $$
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

DO $$
DECLARE
    f regprocedure;
BEGIN
    FOREACH f IN ARRAY ARRAY['mailroom_lock_tables(text, text)', 'mailroom_partition_width()',
        'mailroom_partition_now()', 'mailroom_is_partitioned()', 'mailroom_partition_schema()',
        'mailroom_token_partitions()',
        'mailroom_partition_obstacles()', 'mailroom_partition_hangings()',
        'mailroom_partition_exchange(regclass, text)', 'mailroom_partition_bound()',
        'mailroom_partition_validate()', 'mailroom_partition_attach()', 'mailroom_partition_next()',
        'mailroom_partition_waits(regclass, bigint)', 'mailroom_forget_tokens(interval)',
        'mailroom_unpartition()']::regprocedure[]
    LOOP
        EXECUTE format('ALTER FUNCTION %s SET search_path = pg_catalog, %I, pg_temp',
            f, current_schema());
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM public', f);
    END LOOP;
END
$$;
REVOKE EXECUTE ON PROCEDURE mailroom_partition() FROM public;

COMMIT;
