-- Mends: one collector at a time could work on the queue.
--
-- In the mode skip-locked a collector claims tokens (claimed_by is the number
-- of its session lock), writes them, and marks them (processed_at). In the mode
-- cursor every token is inserted with processed_at 0, which means that the
-- cursor decides. So the index of waiting tokens stays empty and costs nothing.
--
-- mailroom_switch_mode carries the state over while no collector runs. Its
-- exclusive lock waits for every transaction that has inserted a token, but not
-- for one that has its number already and inserts later. So on the way back to
-- the cursor all waiting tokens get a number below every running transaction, as
-- in 000012.

BEGIN;

LOCK TABLE tokens, jobs IN ACCESS EXCLUSIVE MODE;

-- The columns and the index may have been made by the online file.
ALTER TABLE tokens ADD COLUMN IF NOT EXISTS processed_at bigint DEFAULT 0,
    ADD COLUMN IF NOT EXISTS claimed_by bigint;
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_index
               WHERE indexrelid = to_regclass('tokens_waiting_idx') AND NOT indisvalid) THEN
        DROP INDEX tokens_waiting_idx;
    END IF;
END
$$;
CREATE INDEX IF NOT EXISTS tokens_waiting_idx ON tokens (claimed_by, id) WHERE processed_at IS NULL;
ALTER TABLE jobs ADD COLUMN mode text NOT NULL DEFAULT 'cursor'
    CHECK (mode IN ('cursor', 'skip-locked'));

-- Returns how many tokens wait; null when the queue had that mode already.
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

COMMIT;
