-- Mends: a cursor that is a point has to wait for the oldest transaction of the
-- whole cluster. Its row in jobs, and the marks of skip-locked in tokens, leave
-- row versions behind that cannot be removed while a transaction holds an old
-- snapshot.
--
-- The new cursor is a pair of snapshots and a position (table `cursors`):
--
--   seen    all that is visible in it was taken
--   tick    a later snapshot, of which a part was taken: the tokens up to the
--           position (xid, id), in that order
--
-- The rest of the tick waits, and then what is not visible in it. A
-- snapshot lists the transactions that were running, so a transaction that
-- stays open delays no token and loses none. xid is the number of the top-level
-- transaction, because a snapshot lists no others.
--
-- Every move writes a new n. The newest is found at the end of the primary key,
-- and no move has to look at the versions before it. A lane is a set of actions
-- with a cursor of its own; there is one, with all of them.
--
-- In the shared mode `deliveries` has a row for each batch that was taken and is
-- not confirmed. In every mode it may have rows for tokens that waited when the
-- cursor was made, and that the cursor cannot express. A row's owner has a row in
-- `owners`; owner 0 is nobody.
--
-- jobs.mode is null until a collector that reads this cursor has come to the queue.
-- Until then (last_xid, last_seq) is the queue's cursor, as before, for collectors of
-- other makers too. mailroom_settle turns the older cursor into the new one.

BEGIN;

LOCK TABLE tokens, jobs IN ACCESS EXCLUSIVE MODE;
SET LOCAL enable_seqscan = off; -- queries under the lock use indexes
SET LOCAL jit = off; -- the planner gives a disabled scan so high a cost that jit would start

-- In a database that was restored, the row of jobs tells since when tokens were inserted here. It is
-- written below, so they are put behind the cursor before that.
DO $$
BEGIN
    PERFORM mailroom_restamp(job_type::text) FROM jobs
    WHERE last_xid::text::bigint >= pg_current_xact_id()::text::bigint - age(xmin);
END
$$;

-- A queue of skip-locked is first switched to the older cursor.
DO $$
BEGIN
    IF EXISTS (SELECT FROM tokens WHERE processed_at IS NULL AND claimed_by IS NOT NULL) THEN
        RAISE object_in_use USING MESSAGE = 'collectors still have claims',
            HINT = 'Stop them with TERM; if one was killed, start one and stop it.';
    END IF;
END
$$;
CREATE TEMPORARY TABLE was_shared AS
    SELECT job_type AS queue FROM jobs WHERE mode = 'skip-locked';
DO $$ BEGIN PERFORM mailroom_switch_mode(queue::text, 'cursor') FROM was_shared; END $$;

CREATE TABLE cursors (
    queue   job_type NOT NULL REFERENCES jobs ON DELETE CASCADE,
    lane    smallint NOT NULL DEFAULT 1,
    n       bigint NOT NULL DEFAULT 0,
    actions token_action[] NOT NULL DEFAULT enum_range(NULL::token_action),
    seen    pg_snapshot NOT NULL DEFAULT '1:1:',
    tick    pg_snapshot NOT NULL DEFAULT '1:1:',
    xid     xid8 NOT NULL DEFAULT '0',
    id      bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (queue, lane, n)
);
INSERT INTO cursors (queue) SELECT job_type FROM jobs;

CREATE TABLE owners (
    queue   job_type NOT NULL REFERENCES jobs ON DELETE CASCADE,
    owner   bigint NOT NULL,
    renewed bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (queue, owner)
);

CREATE TABLE deliveries (
    n      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    queue  job_type NOT NULL,
    owner  bigint NOT NULL,
    tokens bigint[] NOT NULL
);
CREATE INDEX deliveries_owner_idx ON deliveries (queue, owner, n);

-- The index may have been made by the online file.
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_index
               WHERE indexrelid = to_regclass('tokens_action_xid_id_idx') AND NOT indisvalid) THEN
        DROP INDEX tokens_action_xid_id_idx;
    END IF;
END
$$;
CREATE INDEX IF NOT EXISTS tokens_action_xid_id_idx ON tokens (action, xid, id);
DROP INDEX tokens_xid_id_idx;

ALTER TABLE jobs ADD COLUMN renewed bigint NOT NULL DEFAULT 0;
ALTER TABLE tokens DROP COLUMN processed_at, DROP COLUMN claimed_by; -- and tokens_waiting_idx
ALTER TABLE jobs DROP CONSTRAINT jobs_mode_check, ALTER COLUMN mode DROP NOT NULL,
    ALTER COLUMN mode DROP DEFAULT;
UPDATE jobs SET mode = NULL;
ALTER TABLE jobs ADD CONSTRAINT jobs_mode_check CHECK (mode IN ('cursor', 'shared', 'leased'));
DROP FUNCTION mailroom_horizon_holder();
DROP FUNCTION mailroom_switch_mode(text, text);
DROP FUNCTION mailroom_restamp(text);

-- Returns the key of an advisory lock of a queue. Every collector at work shares the lock
-- 'queue'; the holder has the lock of its epoch; an owner has the lock of its own number.
CREATE FUNCTION mailroom_lock_key(queue text, what text) RETURNS bigint
LANGUAGE sql STABLE AS $$
    SELECT hashtextextended(format('mailroom %s %s %s', 'jobs'::regclass::oid, queue, what), 0)
$$;

-- Returns the tokens that a queue's cursor, of either kind, has not taken, in its
-- order.
CREATE FUNCTION mailroom_untaken(queue text) RETURNS TABLE (token bigint, xid xid8)
LANGUAGE sql STABLE AS $$
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
$$;

-- Makes a new cursor for a queue whose own cannot be read on. It locks no table and
-- waits for no transaction. Returns how many tokens wait; null when there was
-- nothing to do.
--
-- A point (xid, id) was moved only past transactions that were over. So `seen` becomes
-- all transactions below xid, and `tick` all below xid + 1, of which the tokens up to id
-- were taken. Rows of transaction 0, from before 000004, are in no snapshot: those that
-- wait are written down in deliveries, with the owner 0, which is nobody.
--
-- In another cluster, or another database, the numbers mean nothing: all that waits
-- is written down as nobody's, the cursor begins behind all that is visible, and
-- visible rows that would stand before it get the number 0. One statement does that, so that no
-- token is committed in between. Two kinds of tokens wait: those that waited when the
-- dump was made, and those inserted here since. The latter have a number between that
-- of the transaction that wrote the row of jobs and that of their own row, which is
-- the same or, after a savepoint, a higher one.
CREATE FUNCTION mailroom_settle(queue text, new_mode text) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER AS $$
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

-- For administrators: changes the mode in which a queue is dequeued. All modes read
-- the same cursor and drain the same deliveries, so nothing has to be carried over.
-- Returns how many tokens wait; null when the queue had that mode already.
CREATE FUNCTION mailroom_switch_mode(queue text, new_mode text) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    settled bigint := mailroom_settle(queue, new_mode);
    old_mode text;
BEGIN
    SELECT mode INTO STRICT old_mode FROM jobs WHERE job_type::text = queue FOR UPDATE;
    IF old_mode = new_mode THEN
        RETURN settled;
    END IF;
    UPDATE jobs SET mode = new_mode, epoch = epoch + 1, holder = NULL WHERE job_type::text = queue;
    RETURN (SELECT count(*) FROM mailroom_untaken(queue))
         + (SELECT coalesce(sum(cardinality(tokens)), 0) FROM deliveries AS d
            WHERE d.queue::text = mailroom_switch_mode.queue);
END
$$;

DO $$
DECLARE
    f regprocedure;
BEGIN
    FOREACH f IN ARRAY ARRAY['mailroom_lock_key(text, text)', 'mailroom_untaken(text)',
        'mailroom_settle(text, text)', 'mailroom_switch_mode(text, text)']::regprocedure[]
    LOOP
        EXECUTE format('ALTER FUNCTION %s SET search_path = pg_catalog, %I, pg_temp',
            f, current_schema());
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM public', f);
    END LOOP;
END
$$;

GRANT UPDATE (renewed) ON jobs TO mailroom_collector;
GRANT SELECT, UPDATE (n, seen, tick, xid, id) ON cursors TO mailroom_collector;
GRANT SELECT, INSERT, DELETE, UPDATE (renewed) ON owners TO mailroom_collector;
GRANT SELECT, INSERT, DELETE, UPDATE (owner, tokens) ON deliveries TO mailroom_collector;
GRANT EXECUTE ON FUNCTION mailroom_lock_key(text, text), mailroom_settle(text, text)
    TO mailroom_collector;

COMMIT;

-- Counting what waits reads all tokens, so the lock is released first. If this fails, the
-- first collector in shared mode does the same.
DO $$ BEGIN PERFORM mailroom_settle(queue::text, 'shared') FROM was_shared; END $$;
DROP TABLE was_shared;
