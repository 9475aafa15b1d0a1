-- Merges the lanes of each queue that nobody has used yet. From here on mailroom_lanes makes such a
-- queue a leased one again.

BEGIN;

DO $$
BEGIN
    PERFORM mailroom_lanes('', c.queue::text)
    FROM cursors AS c JOIN jobs AS j ON j.job_type = c.queue
    WHERE c.lane > 1 AND j.mode IS NULL;
END
$$;

DO $$
DECLARE
    f regprocedure := 'mailroom_lanes(text, text)';
    edit record;
BEGIN
    FOR edit IN SELECT * FROM (VALUES
        ($was$    -- A queue that nobody has used yet keeps its older cursor until the first collector comes. Until
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
$was$,
$now$    PERFORM mailroom_settle(queue, 'leased');
    -- Settling has the lock of the queue to itself: no collector runs.
$now$),
        ($was$    ELSIF before > 1 AND unused THEN
        DELETE FROM cursors AS c WHERE c.queue = q AND c.lane > 1;
        UPDATE cursors AS c SET n = c.n + 1, actions = every WHERE c.queue = q;
    ELSIF before > 1 THEN
$was$,
$now$    ELSIF before > 1 THEN
$now$),
        ($was$    before int;
    unused bool := false;
BEGIN
$was$,
$now$    before int;
BEGIN
$now$)
        ) AS edits (was, becomes)
    LOOP
        IF strpos(pg_get_functiondef(f), edit.was) = 0 THEN
            RAISE EXCEPTION '% is not the one that this migration knows', f;
        END IF;
        EXECUTE replace(pg_get_functiondef(f), edit.was, edit.becomes);
    END LOOP;
END
$$;

COMMIT;
