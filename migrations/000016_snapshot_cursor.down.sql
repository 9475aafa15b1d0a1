-- The cursor becomes a point again. All tokens that wait get one transaction number,
-- just below that of every running transaction, and the point is put just before
-- them. All other tokens get a number that the point has passed. Nothing is lost; a
-- batch that was taken and not confirmed may be delivered again.

BEGIN;

LOCK TABLE tokens, jobs IN ACCESS EXCLUSIVE MODE;

CREATE TEMPORARY TABLE waits ON COMMIT DROP AS
    SELECT token FROM jobs, mailroom_untaken(job_type::text)
    UNION
    SELECT unnest(tokens) FROM deliveries;
CREATE TEMPORARY TABLE was ON COMMIT DROP AS SELECT job_type AS queue, mode FROM jobs;

ALTER TABLE tokens ADD COLUMN processed_at bigint DEFAULT 0, ADD COLUMN claimed_by bigint;
DO $$
DECLARE
    below xid8 := (least(pg_snapshot_xmin(pg_current_snapshot()), pg_current_xact_id())::text::bigint
                   - 1)::text::xid8;
BEGIN
    -- If no queue has used the new cursor and no delivery is left, the point is still right, and
    -- stays.
    IF EXISTS (SELECT FROM was WHERE mode IS NOT NULL) OR EXISTS (SELECT FROM deliveries) THEN
        UPDATE tokens AS t
        SET xid = CASE WHEN t.id IN (SELECT token FROM waits) THEN below ELSE '0' END
        WHERE t.xid >= below OR t.id IN (SELECT token FROM waits);
        UPDATE jobs SET last_xid = below, cluster = mailroom_cluster(), holder = NULL,
            last_seq = coalesce((SELECT min(w.token) - 1 FROM waits AS w JOIN tokens AS t ON t.id = w.token), 0);
    END IF;
END
$$;

DROP FUNCTION mailroom_lanes(text, text);
DROP FUNCTION mailroom_switch_mode(text, text);
DROP FUNCTION mailroom_settle(text, text);
DROP FUNCTION mailroom_moved(text);
DROP FUNCTION mailroom_clamp(pg_snapshot, xid8);
DROP FUNCTION mailroom_untaken(text);
DROP FUNCTION mailroom_lock_key(text, text);
DROP TABLE deliveries;
DROP TABLE owners;
DROP TABLE cursors;
CREATE INDEX tokens_xid_id_idx ON tokens (xid, id);
DROP INDEX tokens_action_xid_id_idx;
CREATE INDEX tokens_waiting_idx ON tokens (claimed_by, id) WHERE processed_at IS NULL;

ALTER TABLE jobs DROP CONSTRAINT jobs_mode_check;
UPDATE jobs SET mode = 'cursor';
ALTER TABLE jobs DROP COLUMN renewed, ALTER COLUMN mode SET NOT NULL,
    ALTER COLUMN mode SET DEFAULT 'cursor';
ALTER TABLE jobs ADD CONSTRAINT jobs_mode_check CHECK (mode IN ('cursor', 'skip-locked'));

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

CREATE FUNCTION mailroom_restamp(queue text) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    job jobs;
    job_written xid;
    below xid8;
    first_id bigint;
    n bigint;
BEGIN
    SELECT * INTO STRICT job FROM jobs WHERE job_type::text = queue FOR UPDATE;
    SELECT xmin INTO job_written FROM jobs WHERE job_type::text = queue;
    -- The cursor was moved only past transactions that were over, so it is below the number of the
    -- transaction that moved it. If it is not, the row was restored, whatever the cluster is called.
    IF job.cluster IS NOT DISTINCT FROM mailroom_cluster()
       AND job.last_xid::text::bigint < pg_current_xact_id()::text::bigint - age(job_written) THEN
        RETURN NULL;
    END IF;
    below := (pg_snapshot_xmin(pg_current_snapshot())::text::bigint - 1)::text::xid8;
    WITH stamped AS (
        UPDATE tokens AS t
        SET xid = CASE WHEN w.waits THEN below ELSE '0' END
        FROM (SELECT id, (xid, id) > (job.last_xid, job.last_seq)
                         OR age(xmin) <= age(xid::xid) AND age(xid::xid) BETWEEN 0 AND age(job_written) AS waits
              FROM tokens) AS w
        WHERE t.id = w.id AND (w.waits OR t.xid >= below)
        RETURNING t.id, w.waits
    )
    SELECT count(*), min(id) INTO n, first_id FROM stamped WHERE waits;
    UPDATE jobs
    SET last_xid = below, last_seq = coalesce(first_id - 1, 0), cluster = mailroom_cluster()
    WHERE job_type = job.job_type;
    RETURN n;
END
$$;

DO $$
BEGIN
    EXECUTE format('ALTER FUNCTION mailroom_restamp(text) SET search_path = pg_catalog, %I, pg_temp',
        current_schema());
END
$$;
REVOKE EXECUTE ON FUNCTION mailroom_restamp(text) FROM public;
GRANT EXECUTE ON FUNCTION mailroom_restamp(text) TO mailroom_collector;

CREATE FUNCTION mailroom_switch_mode(queue text, new_mode text) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    job jobs;
    below xid8;
    first_id bigint;
    n bigint;
BEGIN
    LOCK TABLE tokens, jobs IN ACCESS EXCLUSIVE MODE;
    SELECT * INTO STRICT job FROM jobs WHERE job_type::text = queue;
    IF job.mode = new_mode THEN
        RETURN NULL;
    END IF;
    IF NOT pg_try_advisory_xact_lock(hashtextextended('mailroom-collector ' || queue, 0)) THEN
        RAISE object_in_use USING MESSAGE = 'a collector is running; stop all of them first';
    END IF;
    PERFORM mailroom_restamp(queue);
    SELECT * INTO STRICT job FROM jobs WHERE job_type::text = queue;
    IF new_mode = 'skip-locked' THEN
        ALTER TABLE tokens ALTER COLUMN processed_at SET DEFAULT NULL;
        UPDATE tokens SET processed_at = NULL, claimed_by = NULL
        WHERE (xid, id) > (job.last_xid, job.last_seq);
        GET DIAGNOSTICS n = ROW_COUNT;
    ELSE
        ALTER TABLE tokens ALTER COLUMN processed_at SET DEFAULT 0;
        below := (pg_snapshot_xmin(pg_current_snapshot())::text::bigint - 1)::text::xid8;
        UPDATE tokens SET xid = '0' WHERE processed_at IS NOT NULL AND xid >= below;
        WITH stamped AS (
            UPDATE tokens SET xid = below, processed_at = 0, claimed_by = NULL
            WHERE processed_at IS NULL
            RETURNING id
        )
        SELECT count(*), min(id) INTO n, first_id FROM stamped;
        UPDATE jobs SET last_xid = below, last_seq = coalesce(first_id - 1, 0)
        WHERE job_type = job.job_type;
    END IF;
    UPDATE jobs SET mode = new_mode, epoch = epoch + 1, holder = NULL
    WHERE job_type = job.job_type;
    RETURN n;
END
$$;

DO $$
BEGIN
    EXECUTE format('ALTER FUNCTION mailroom_switch_mode(text, text)
        SET search_path = pg_catalog, %I, pg_temp', current_schema());
END
$$;

REVOKE EXECUTE ON FUNCTION mailroom_switch_mode(text, text) FROM public;
GRANT EXECUTE ON FUNCTION mailroom_switch_mode(text, text) TO mailroom_collector;
GRANT UPDATE (processed_at, claimed_by) ON tokens TO mailroom_collector;

DO $$
BEGIN
    PERFORM mailroom_switch_mode(queue::text, 'skip-locked') FROM was WHERE mode IN ('shared', 'leased');
END
$$;

COMMIT;
