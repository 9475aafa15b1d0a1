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
-- with a cursor of its own, so password recoveries need not wait behind a backlog
-- of activations. At first there is one, with all of them.
--
-- `deliveries` has a row for each line that was taken and is not settled. It may
-- also have rows for tokens that waited when the cursor was made, and that the
-- cursor cannot express. A row's owner has a row in `owners`; owner 0 is nobody.
--
-- jobs.mode is null until a collector that reads this cursor has come to the queue.
-- Until then (last_xid, last_seq) is the queue's cursor, as before, for collectors of
-- other makers too. mailroom_settle turns the older cursor into the new one.

BEGIN;

-- The numbers from here on were given anew before the first release. A database that has the tables
-- already was made by files that are not these.
DO $$
BEGIN
    IF to_regclass('cursors') IS NOT NULL THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = 'this database was migrated by an unreleased version, beyond 000015',
            HINT = 'Take it down to 000015 with the files of that version, then up with these. '
                'What waits is carried over.';
    END IF;
END
$$;

LOCK TABLE tokens, jobs IN ACCESS EXCLUSIVE MODE;
SET LOCAL enable_seqscan = off; -- queries under the lock use indexes
SET LOCAL jit = off; -- the planner gives a disabled scan so high a cost that jit would start

-- In a database that was restored, the row of jobs tells since when tokens were inserted here. It
-- is written below, so they are put behind the cursor before that.
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
    written xid8,                  -- the transaction that wrote the row (mailroom_moved)
    PRIMARY KEY (queue, lane, n)
);
INSERT INTO cursors (queue) SELECT job_type FROM jobs;

CREATE TABLE owners (
    queue   job_type NOT NULL REFERENCES jobs ON DELETE CASCADE,
    owner   bigint NOT NULL,
    renewed bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (queue, owner)
);

-- The n of a row may come again after a failover; its nonce, a random number, does not.
CREATE TABLE deliveries (
    n         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    queue     job_type NOT NULL,
    owner     bigint NOT NULL,
    tokens    bigint[] NOT NULL,
    numbers   int[],               -- each token's attempt number; null: all are 1
    errors    int[],               -- each token's failed attempts so far; null: none
    alone     bool NOT NULL DEFAULT false, -- senders died with it: it gets a line of its own
    due       timestamptz NOT NULL DEFAULT '-infinity',
    leased_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    nonce     bigint NOT NULL DEFAULT hashtextextended(gen_random_uuid()::text, 0),
    paid_at   timestamptz,         -- when tokens of it were paid for
    paid      int                  -- which: so many, from the first on; null: none
);
-- A row lives for as long as a line is under way, and to compress it takes longer than the rest.
ALTER TABLE deliveries ALTER COLUMN tokens SET STORAGE EXTERNAL;
CREATE INDEX deliveries_owner_idx ON deliveries (queue, owner, n);
CREATE INDEX deliveries_due_idx ON deliveries (queue, due, n) WHERE owner = 0;

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

-- Executes a statement, with the name of this schema in place of `here`. The functions name every
-- table by its schema, and their search path has pg_catalog alone. So no function, operator or
-- table that another role makes can come in between.
CREATE OR REPLACE PROCEDURE pg_temp.make(statement text) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE regexp_replace(statement, '\mhere\.(?=[a-z%])', quote_ident(current_schema()) || '.',
    'g');
END
$$;

-- Returns the snapshot, with a transaction among those that run. A transaction's own number is
-- missing from its own snapshot, so without this a token that it inserts later would count as
-- seen.
CALL pg_temp.make($make$
CREATE FUNCTION here.mailroom_clamp(now pg_snapshot, own xid8) RETURNS pg_snapshot
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT format('%s:%s:%s', least(pg_snapshot_xmin(now), own), pg_snapshot_xmax(now),
               string_agg(x::text, ',' ORDER BY x)
                   FILTER (WHERE x < pg_snapshot_xmax(now)))::pg_snapshot
    FROM (SELECT pg_snapshot_xip(now) UNION SELECT own) AS running (x)
$$
$make$);

-- Returns true when a queue's cursor does not belong to this database, or is of the older kind.
--
-- Each move of a cursor stores the number of its transaction. The row was written here exactly if
-- its own xmin is that number, modulo 2^32. A restored row has the xmin of the restore. A physical
-- copy, pg_upgrade and VACUUM keep both. A move in a savepoint, or an ALTER TABLE that writes the
-- table anew, looks like a restored row: then a new cursor is made in vain, which loses nothing.
-- Whatever calls this must do so before it writes the row.
--
-- A token whose number has not been given out yet was restored, too.
CALL pg_temp.make($make$
CREATE FUNCTION here.mailroom_moved(queue text) RETURNS bool
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET row_security = off
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off AS $$
    SELECT j.mode IS NULL
        OR EXISTS (SELECT
                   FROM generate_series(1,
                   cardinality(enum_range(NULL::here.token_action))) AS l (lane),
                        LATERAL (SELECT c.xmin AS row_xmin, c.written
                                 FROM here.cursors AS c WHERE c.queue = j.job_type
                                     AND c.lane = l.lane
                                 ORDER BY c.n DESC LIMIT 1) AS c
                   WHERE c.written IS NULL
                      OR c.row_xmin::text::bigint <> c.written::text::bigint & 4294967295)
        OR EXISTS (SELECT FROM unnest(enum_range(NULL::here.token_action)) AS a (action),
                        LATERAL (SELECT FROM here.tokens AS t WHERE t.action = a.action
                                   AND t.xid >= pg_snapshot_xmax(pg_current_snapshot())
                                   AND t.xid IS DISTINCT FROM pg_current_xact_id_if_assigned()
                                 LIMIT 1) AS t)
    FROM here.jobs AS j WHERE j.job_type::text = queue
$$
$make$);

-- Makes a new cursor for a queue whose own cannot be read on: it is of the older kind, or does not
-- belong to this database (mailroom_moved). It locks no table and waits for no transaction. Returns
-- how many tokens wait; null when there was nothing to do.
--
-- A point (xid, id) was moved only past transactions that were over, so it is below the number of
-- the transaction that wrote it. `seen` becomes all transactions below xid, and `tick` all below
-- xid + 1, of which the tokens up to id were taken. Rows of transaction 0, from before 000004, are
-- in no snapshot: those that wait are written down in deliveries, with the owner 0, which is
-- nobody.
--
-- In another database the numbers mean nothing: all that waits is written down as nobody's, the
-- cursor begins behind all that is visible, and visible rows that would stand before it get the
-- number 0. One statement does that, so that no token is committed in between. Two kinds of tokens
-- wait: those that waited when the dump was made, and those inserted here since. The latter have a
-- number between that of the transaction that wrote the cursor's row and ours, and their own row
-- has the same number or, after a savepoint, a higher one.
CALL pg_temp.make($make$
CREATE FUNCTION here.mailroom_settle(queue text, new_mode text) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET row_security = off AS $$
DECLARE
    job here.jobs;
    row_xmin xid;
    point bigint;
    own bigint;
BEGIN
    IF new_mode NOT IN ('cursor', 'shared', 'leased') THEN
        RAISE invalid_parameter_value USING MESSAGE = 'there is no mode ' || new_mode;
    END IF;
    IF NOT pg_try_advisory_xact_lock(here.mailroom_lock_key(queue, 'queue')) THEN
        RAISE object_in_use USING MESSAGE = 'a collector is running; stop all of them first';
    END IF;
    SELECT * INTO STRICT job FROM here.jobs AS j WHERE j.job_type::text = queue FOR UPDATE;
    IF NOT here.mailroom_moved(queue) THEN
        RETURN NULL;
    END IF;
    SELECT j.xmin INTO row_xmin FROM here.jobs AS j WHERE j.job_type = job.job_type;
    -- This transaction's own number may be on tokens that it inserts later. Once it has one, no
    -- snapshot of its has a higher xmin.
    own := pg_current_xact_id()::text::bigint;
    point := greatest(job.last_xid::text::bigint, 1);
    IF job.mode IS NULL AND point < own - age(row_xmin) AND NOT EXISTS (
           SELECT FROM unnest(enum_range(NULL::here.token_action)) AS a (action), LATERAL (
               SELECT FROM here.tokens AS t WHERE t.action = a.action AND t.xid::text::bigint <> own
                 AND t.xid >= pg_snapshot_xmax(pg_current_snapshot()) LIMIT 1) AS t) THEN
        WITH old AS (
            SELECT t.id, row_number() OVER (ORDER BY t.id) AS at FROM here.tokens AS t
            WHERE t.xid = '0' AND job.last_xid = '0' AND t.id > job.last_seq
        )
        INSERT INTO here.deliveries (queue, owner, tokens)
        SELECT job.job_type, 0, array_agg(o.id ORDER BY o.at) FROM old AS o
            GROUP BY o.at / 100 ORDER BY o.at / 100;
        UPDATE here.cursors AS c SET n = c.n + 1, written = pg_current_xact_id(),
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
            FROM here.cursors AS c, unnest(c.actions) AS a (action)
            WHERE c.queue = job.job_type AND (job.mode IS NULL OR c.written IS NULL
                OR c.xmin::text::bigint <> c.written::text::bigint & 4294967295)
        ), waits AS MATERIALIZED (
            SELECT u.token, u.xid FROM here.mailroom_untaken(queue) AS u
            UNION
            SELECT t.id, t.xid FROM since AS s JOIN here.tokens AS t ON t.action = s.action
            WHERE t.xid BETWEEN s.xid::text::xid8 AND own::text::xid8
                AND age(t.xmin) <= age(t.xid::xid)
        ), chunked AS (
            SELECT w.token, row_number() OVER (ORDER BY w.xid, w.token) AS at FROM waits AS w
        ), given AS (
            INSERT INTO here.deliveries (queue, owner, tokens)
            SELECT job.job_type, 0, array_agg(w.token ORDER BY w.at) FROM chunked AS w
                GROUP BY w.at / 100
            ORDER BY w.at / 100
        ), behind AS (
            UPDATE here.tokens AS t SET xid = '0' FROM start AS s WHERE t.xid >= s.xid
        )
        UPDATE here.cursors AS c SET n = c.n + 1, written = pg_current_xact_id(),
            seen = format('%1$s:%1$s:', s.xid)::pg_snapshot,
            tick = format('%1$s:%1$s:', s.xid)::pg_snapshot, xid = '0', id = 0
        FROM start AS s
        WHERE c.queue = job.job_type;
    END IF;
    INSERT INTO here.owners (queue, owner)
    SELECT DISTINCT d.queue, d.owner FROM here.deliveries AS d WHERE d.queue = job.job_type
    ON CONFLICT DO NOTHING;
    UPDATE here.jobs AS j SET mode = coalesce(j.mode, new_mode), cluster = here.mailroom_cluster(),
        epoch = j.epoch + 1, holder = NULL, last_seq = greatest(j.last_seq, 0)
    WHERE j.job_type = job.job_type;
    RETURN (SELECT count(*) FROM here.mailroom_untaken(queue))
         + (SELECT coalesce(sum(cardinality(d.tokens)), 0) FROM here.deliveries AS d
            WHERE d.queue = job.job_type);
END
$$
$make$);

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

-- For administrators, while no collector runs: 'password_recovery,activation' gives
-- each action a lane, in this order; '' makes one lane of all. Returns how many lanes
-- there were before.
--
-- A new lane begins where the lane stood that had its action before. Several lanes have
-- no common place. So when they become one, all that waits is written down in deliveries
-- as nobody's, and the one lane begins behind it.
CALL pg_temp.make($make$
CREATE FUNCTION here.mailroom_lanes(lanes text, queue text DEFAULT 'mailroom') RETURNS int
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    q here.job_type := queue::here.job_type;
    every here.token_action[] := enum_range(NULL::here.token_action);
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
    IF (SELECT mode IS NULL FROM here.jobs WHERE job_type = q) THEN
        unused := pg_try_advisory_xact_lock(here.mailroom_lock_key(queue, 'queue'));
        PERFORM FROM here.jobs WHERE job_type = q AND mode IS NULL FOR UPDATE;
        unused := unused AND FOUND;
    END IF;
    -- The row of jobs of an unused queue tells when the database was restored, and must stay as it
    -- is.
    IF NOT unused THEN
        PERFORM here.mailroom_settle(queue, 'leased');
        UPDATE here.jobs SET epoch = epoch + 1, holder = NULL WHERE job_type = q;
    END IF;
    -- Here the lock of the queue is ours alone: no collector runs.
    SELECT count(*) INTO before FROM here.cursors AS c WHERE c.queue = q;
    IF cardinality(wanted) > 0 THEN
        WITH old AS (
            DELETE FROM here.cursors AS c WHERE c.queue = q RETURNING *
        )
        INSERT INTO here.cursors (queue, lane, n, actions, seen, tick, xid, id, written)
        SELECT q, w.at, max(o.n) OVER () + 1, ARRAY[w.action]::here.token_action[], o.seen, o.tick,
               o.xid, o.id, pg_current_xact_id()
        FROM unnest(wanted) WITH ORDINALITY AS w (action, at)
        JOIN old AS o ON w.action::here.token_action = ANY (o.actions);
    ELSIF before > 1 AND unused THEN
        DELETE FROM here.cursors AS c WHERE c.queue = q AND c.lane > 1;
        UPDATE here.cursors AS c
            SET n = c.n + 1, actions = every, written = pg_current_xact_id() WHERE c.queue = q;
    ELSIF before > 1 THEN
        -- This transaction's own tokens, of before or to come, are not taken: its
        -- number counts as running.
        PERFORM pg_current_xact_id();
        WITH at AS MATERIALIZED (
            SELECT pg_current_xact_id() AS own, pg_current_snapshot() AS now
        ), waits AS MATERIALIZED (
            SELECT u.token, row_number() OVER (ORDER BY u.xid, u.token) AS at
            FROM here.mailroom_untaken(queue) AS u, at WHERE u.xid <> at.own
        ), given AS (
            INSERT INTO here.deliveries (queue, owner, tokens)
            SELECT q, 0, array_agg(w.token ORDER BY w.at) FROM waits AS w GROUP BY w.at / 100
            ORDER BY w.at / 100
        ), place AS (
            SELECT here.mailroom_clamp(h.now, h.own) AS seen
            FROM at AS h
        ), gone AS (
            DELETE FROM here.cursors AS c WHERE c.queue = q AND c.lane > 1
        )
        UPDATE here.cursors AS c
        SET n = c.n + 1, actions = every, seen = p.seen, tick = p.seen, xid = '0', id = 0,
            written = pg_current_xact_id()
        FROM place AS p WHERE c.queue = q AND c.lane = 1;
        INSERT INTO here.owners AS o (queue, owner)
        SELECT q, 0 FROM here.deliveries AS d WHERE d.queue = q AND d.owner = 0 LIMIT 1
        ON CONFLICT DO NOTHING;
    END IF;
    RETURN before;
END
$$
$make$);

DO $$
DECLARE
    f regprocedure;
BEGIN
    FOREACH f IN ARRAY ARRAY['mailroom_lock_key(text, text)', 'mailroom_untaken(text)',
        'mailroom_switch_mode(text, text)']::regprocedure[]
    LOOP
        EXECUTE format('ALTER FUNCTION %s SET search_path = pg_catalog, %I, pg_temp',
            f, current_schema());
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM public', f);
    END LOOP;
END
$$;

REVOKE EXECUTE ON FUNCTION mailroom_clamp(pg_snapshot, xid8), mailroom_moved(text),
    mailroom_settle(text, text), mailroom_lanes(text, text) FROM public;

GRANT UPDATE (renewed) ON jobs TO mailroom_collector;
GRANT SELECT, UPDATE (n, seen, tick, xid, id, written) ON cursors TO mailroom_collector;
GRANT SELECT, INSERT, DELETE, UPDATE (renewed) ON owners TO mailroom_collector;
GRANT SELECT, INSERT, DELETE, UPDATE (owner, tokens) ON deliveries TO mailroom_collector;
GRANT EXECUTE ON FUNCTION mailroom_lock_key(text, text), mailroom_settle(text, text),
    mailroom_moved(text) TO mailroom_collector;

COMMIT;

-- Counting what waits reads all tokens, so the lock is released first. If this fails, the
-- first collector in shared mode does the same.
DO $$ BEGIN PERFORM mailroom_settle(queue::text, 'shared') FROM was_shared; END $$;
DROP TABLE was_shared;
