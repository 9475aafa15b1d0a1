-- Mends: transaction numbers belong to one cluster. In a dump restored into
-- another, tokens that waited were never read, because their numbers lay beyond
-- its horizon, and new ones were lost, because theirs lay behind the cursor.
--
-- jobs now records its home cluster. A collector that finds itself in another
-- cluster calls mailroom_restamp. This gives waiting tokens a number just below
-- every running transaction, and puts the cursor before them and after
-- everything else. These tokens wait:
--
--  - what was behind the cursor when the dump was made, and
--  - what was inserted here since: its number is the one that its row was
--    written with (a restored row was written by the restore), and that is not
--    older than the row of jobs.
--
-- Because the second group counts as waiting, too, the function does no harm
-- where the numbers have stayed the same, as with pg_upgrade or just after this
-- migration.

BEGIN;

ALTER TABLE jobs ADD COLUMN cluster text;

CREATE FUNCTION mailroom_cluster() RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT c.system_identifier || '/' || d.oid
    FROM pg_control_system() AS c, pg_database AS d
    WHERE d.datname = current_database()
$$;

-- Returns how many tokens wait; null when there was nothing to do.
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

-- Where there is nothing to renumber, this cluster is recorded as the home.
UPDATE jobs SET cluster = mailroom_cluster()
WHERE last_xid = '0' AND NOT EXISTS (SELECT FROM tokens);

REVOKE EXECUTE ON FUNCTION mailroom_cluster(), mailroom_restamp(text) FROM public;
GRANT EXECUTE ON FUNCTION mailroom_cluster(), mailroom_restamp(text) TO mailroom_collector;

COMMIT;
