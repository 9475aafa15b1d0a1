BEGIN;

DROP TRIGGER tokens_truncated ON tokens;
DROP FUNCTION tokens_truncated();
DROP FUNCTION mailroom_protocol(), mailroom_take(text, bigint, bigint, int, int, int, bool, bool, bigint[],
    bigint, float8, float8, bigint, bool, int), mailroom_settle_lines(text, bigint, bigint[], bigint[], text,
    bigint[], bigint[], text[], text, bigint[], int[], text[], text[], bigint[], bool[], bigint[]),
    mailroom_peers(text, bigint, text, text, bigint, bool, text, bigint, bool, bigint[], bigint[], bool[], text,
    text, text, text, bigint), mailroom_moved(text), mailroom_release(job_type, bigint, text, text),
    mailroom_locks(), mailroom_walk(job_type, int, int), mailroom_refuse(text),
    mailroom_unsendable(token_action, varchar, varchar, bytea, varchar),
    mailroom_clamp(pg_snapshot, xid8), mailroom_place(mailroom_token[], bigint),
    mailroom_examine(job_type, int, bool, int, int, mailroom_token[]);
DROP TYPE mailroom_token;
DO $$
BEGIN
    EXECUTE replace(pg_get_functiondef('mailroom_lease'::regproc), 'SET n = c.n + 1, written = pg_current_xact_id(), seen',
        'SET n = c.n + 1, seen');
END
$$;
ALTER TABLE deliveries DROP COLUMN nonce, DROP COLUMN paid_at;
ALTER TABLE cursors DROP COLUMN written;
ALTER TABLE attempts DROP COLUMN nonce;

CREATE OR REPLACE FUNCTION mailroom_settle(queue text, new_mode text)
 RETURNS bigint
 LANGUAGE plpgsql
 SECURITY DEFINER
AS $$
DECLARE
    job jobs;
    moved bool;
    point bigint;
    job_written bigint;
BEGIN
    IF new_mode NOT IN ('cursor', 'shared', 'leased') THEN
        RAISE invalid_parameter_value USING MESSAGE = 'there is no mode ' || new_mode;
    END IF;
    IF NOT pg_try_advisory_xact_lock(mailroom_lock_key(queue, 'queue')) THEN
        RAISE object_in_use USING MESSAGE = 'a collector is running; stop all of them first';
    END IF;
    SELECT * INTO STRICT job FROM jobs WHERE job_type::text = queue FOR UPDATE;
    moved := job.cluster IS DISTINCT FROM mailroom_cluster();
    IF NOT moved AND job.mode IS NOT NULL THEN
        RETURN NULL;
    END IF;
    IF NOT moved THEN
        point := greatest(job.last_xid::text::bigint, 1);
        WITH old AS (
            SELECT id, row_number() OVER (ORDER BY id) AS at FROM tokens
            WHERE xid = '0' AND job.last_xid = '0' AND id > job.last_seq
        )
        INSERT INTO deliveries (queue, owner, tokens)
        SELECT job.job_type, 0, array_agg(id ORDER BY at) FROM old GROUP BY at / 100 ORDER BY at / 100;
        UPDATE cursors AS c SET n = c.n + 1, seen = format('%1$s:%1$s:', point)::pg_snapshot,
            tick = format('%1$s:%1$s:', point + 1)::pg_snapshot,
            xid = job.last_xid, id = job.last_seq
        WHERE c.queue = job.job_type;
    ELSE
        SELECT age(xmin) INTO job_written FROM jobs WHERE job_type::text = queue;
        -- This transaction's own number may be on tokens that it inserts later. Once
        -- it has one, no snapshot of its has a higher xmin.
        PERFORM pg_current_xact_id();
        WITH here AS MATERIALIZED (
            SELECT pg_snapshot_xmin(pg_current_snapshot()) AS start,
                   greatest(0, pg_current_xact_id()::text::bigint - job_written)::text::xid8 AS since
        ), waits AS MATERIALIZED (
            SELECT token, u.xid FROM mailroom_untaken(queue) AS u
            UNION
            SELECT id, t.xid FROM tokens AS t, here
            WHERE job.cluster IS NOT NULL AND t.xid BETWEEN here.since AND pg_current_xact_id()
              AND age(t.xmin) <= age(t.xid::xid)
        ), chunked AS (
            SELECT token, row_number() OVER (ORDER BY xid, token) AS at FROM waits
        ), given AS (
            INSERT INTO deliveries (queue, owner, tokens)
            SELECT job.job_type, 0, array_agg(token ORDER BY at) FROM chunked GROUP BY at / 100
            ORDER BY at / 100
        ), behind AS (
            UPDATE tokens AS t SET xid = '0' FROM here WHERE t.xid >= here.start
        )
        UPDATE cursors AS c SET n = c.n + 1, seen = format('%1$s:%1$s:', here.start)::pg_snapshot,
            tick = format('%1$s:%1$s:', here.start)::pg_snapshot, xid = '0', id = 0
        FROM here
        WHERE c.queue = job.job_type;
    END IF;
    INSERT INTO owners (queue, owner)
    SELECT DISTINCT d.queue, d.owner FROM deliveries AS d WHERE d.queue = job.job_type
    ON CONFLICT DO NOTHING;
    UPDATE jobs SET mode = coalesce(mode, new_mode), cluster = mailroom_cluster(),
        epoch = epoch + 1, holder = NULL, last_seq = greatest(last_seq, 0)
    WHERE job_type = job.job_type;
    RETURN (SELECT count(*) FROM mailroom_untaken(queue))
         + (SELECT coalesce(sum(cardinality(d.tokens)), 0) FROM deliveries AS d
            WHERE d.queue = job.job_type);
END
$$;

CREATE OR REPLACE FUNCTION mailroom_lanes(lanes text, queue text DEFAULT 'mailroom'::text)
 RETURNS integer
 LANGUAGE plpgsql
AS $$
#variable_conflict use_column
DECLARE
    q job_type := queue::job_type;
    every token_action[] := enum_range(NULL::token_action);
    wanted text[] := CASE WHEN lanes = '' THEN '{}' ELSE string_to_array(lanes, ',') END;
    before int;
    unused bool := false;
BEGIN
    IF cardinality(wanted) > 0 AND
       ARRAY(SELECT w FROM unnest(wanted) AS w ORDER BY w) <>
       ARRAY(SELECT a::text FROM unnest(every) AS a ORDER BY a::text) THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('the lanes are ''%s''; allowed is each of %s once, comma-joined, or nothing',
                lanes, array_to_string(every, ', '));
    END IF;
    -- A queue that nobody has used yet keeps its older cursor until the first collector comes. Until
    -- then its rows of cursors tell the lanes and nothing else.
    IF (SELECT mode IS NULL FROM jobs WHERE job_type = q) THEN
        unused := pg_try_advisory_xact_lock(mailroom_lock_key(queue, 'queue'));
        PERFORM FROM jobs WHERE job_type = q AND mode IS NULL FOR UPDATE;
        unused := unused AND FOUND;
    END IF;
    IF NOT unused THEN
        PERFORM mailroom_settle(queue, 'leased');
    END IF;
    -- Here the lock of the queue is ours alone: no collector runs.
    UPDATE jobs SET epoch = epoch + 1, holder = NULL WHERE job_type = q;
    SELECT count(*) INTO before FROM cursors AS c WHERE c.queue = q;
    IF cardinality(wanted) > 0 THEN
        WITH old AS (
            DELETE FROM cursors AS c WHERE c.queue = q RETURNING *
        )
        INSERT INTO cursors (queue, lane, n, actions, seen, tick, xid, id)
        SELECT q, w.at, max(o.n) OVER () + 1, ARRAY[w.action]::token_action[], o.seen, o.tick,
               o.xid, o.id
        FROM unnest(wanted) WITH ORDINALITY AS w (action, at)
        JOIN old AS o ON w.action::token_action = ANY (o.actions);
    ELSIF before > 1 AND unused THEN
        DELETE FROM cursors AS c WHERE c.queue = q AND c.lane > 1;
        UPDATE cursors AS c SET n = c.n + 1, actions = every WHERE c.queue = q;
    ELSIF before > 1 THEN
        -- This transaction's own tokens, of before or to come, are not taken: its
        -- number counts as running.
        PERFORM pg_current_xact_id();
        WITH here AS MATERIALIZED (
            SELECT pg_current_xact_id() AS own, pg_current_snapshot() AS now
        ), waits AS MATERIALIZED (
            SELECT u.token, row_number() OVER (ORDER BY u.xid, u.token) AS at
            FROM mailroom_untaken(queue) AS u, here WHERE u.xid <> here.own
        ), given AS (
            INSERT INTO deliveries (queue, owner, tokens)
            SELECT q, 0, array_agg(w.token ORDER BY w.at) FROM waits AS w GROUP BY w.at / 100
            ORDER BY w.at / 100
        ), place AS (
            SELECT format('%s:%s:%s', least(pg_snapshot_xmin(h.now), h.own),
                greatest(pg_snapshot_xmax(h.now)::text::bigint, h.own::text::bigint + 1),
                (SELECT string_agg(x::text, ',' ORDER BY x) FROM (
                    SELECT * FROM pg_snapshot_xip(h.now) UNION SELECT h.own
                    UNION SELECT g::text::xid8 FROM generate_series(
                        pg_snapshot_xmax(h.now)::text::bigint, h.own::text::bigint) AS g) AS r (x))
                )::pg_snapshot AS seen
            FROM here AS h
        ), gone AS (
            DELETE FROM cursors AS c WHERE c.queue = q AND c.lane > 1
        )
        UPDATE cursors AS c
        SET n = c.n + 1, actions = every, seen = p.seen, tick = p.seen, xid = '0', id = 0
        FROM place AS p WHERE c.queue = q AND c.lane = 1;
        INSERT INTO owners AS o (queue, owner)
        SELECT q, 0 FROM deliveries AS d WHERE d.queue = q AND d.owner = 0 LIMIT 1
        ON CONFLICT DO NOTHING;
    END IF;
    RETURN before;
END
$$;

DO $$
BEGIN
    EXECUTE format('ALTER FUNCTION mailroom_settle(text, text) RESET ALL; ALTER FUNCTION mailroom_settle(text, text)
        SET search_path = pg_catalog, %I, pg_temp', current_schema());
    EXECUTE format('ALTER FUNCTION mailroom_lanes(text, text) SET search_path = pg_catalog, %I, pg_temp',
        current_schema());
END
$$;

COMMIT;
