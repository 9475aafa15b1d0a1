-- Merges the lanes of each queue that is not used with 'leased', and lets only a leased queue have
-- lanes, as before.

BEGIN;

DO $$
BEGIN
    PERFORM mailroom_lanes('', c.queue::text)
    FROM cursors AS c JOIN jobs AS j ON j.job_type = c.queue
    WHERE c.lane > 1 AND j.mode <> 'leased';
END
$$;

DO $$
DECLARE
    edit record;
BEGIN
    FOR edit IN SELECT * FROM (VALUES
        ('mailroom_lanes(text, text)'::regprocedure,
$was$    before int;
$was$,
$now$    mode_ text;
    before int;
$now$),
        ('mailroom_lanes(text, text)'::regprocedure,
$was$    UPDATE jobs SET epoch = epoch + 1, holder = NULL WHERE job_type = q;
$was$,
$now$    SELECT mode INTO mode_ FROM jobs WHERE job_type = q;
    IF mode_ <> 'leased' THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = format('lanes need the mode leased, and the queue is used with ''%s''', mode_),
            HINT = 'Run MAILROOM_DEQUEUE=leased mailroom-collector --switch-mode.';
    END IF;
$now$),
        ('mailroom_switch_mode(text, text)'::regprocedure,
$was$    UPDATE jobs SET mode = new_mode, epoch = epoch + 1, holder = NULL WHERE job_type::text = queue;
$was$,
$now$    IF (SELECT count(*) FROM cursors AS c WHERE c.queue::text = mailroom_switch_mode.queue) > 1 THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = format('the queue has lanes, which the mode ''%s'' does not know', new_mode),
            HINT = 'SELECT mailroom_lanes('''') makes one lane of them.';
    END IF;
    UPDATE jobs SET mode = new_mode, epoch = epoch + 1, holder = NULL WHERE job_type::text = queue;
$now$)
        ) AS edits (f, was, becomes)
    LOOP
        IF strpos(pg_get_functiondef(edit.f), edit.was) = 0 THEN
            RAISE EXCEPTION '% is not the one that this migration knows', edit.f;
        END IF;
        EXECUTE replace(pg_get_functiondef(edit.f), edit.was, edit.becomes);
    END LOOP;
END
$$;

COMMIT;
