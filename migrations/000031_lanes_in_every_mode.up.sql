-- Mends: only a queue that is used with 'leased' could have lanes. In the other modes password
-- recoveries, for which people wait, had to wait behind any backlog of activations.
--
-- The epoch rises with each change of the lanes, so that no collector claims the queue by an older
-- look at it. A queue that nobody has used yet still becomes a leased one; choose another mode
-- before, with mailroom-collector --switch-mode.
--
-- Only these lines are replaced, in the functions as they are: their owners, rights and search
-- paths stay.

BEGIN;

DO $$
DECLARE
    edit record;
BEGIN
    FOR edit IN SELECT * FROM (VALUES
        ('mailroom_lanes(text, text)'::regprocedure,
$was$    SELECT mode INTO mode_ FROM jobs WHERE job_type = q;
    IF mode_ <> 'leased' THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = format('lanes need the mode leased, and the queue is used with ''%s''', mode_),
            HINT = 'Run MAILROOM_DEQUEUE=leased mailroom-collector --switch-mode.';
    END IF;
$was$,
$now$    UPDATE jobs SET epoch = epoch + 1, holder = NULL WHERE job_type = q;
$now$),
        ('mailroom_lanes(text, text)'::regprocedure,
$was$    mode_ text;
$was$,
''),
        ('mailroom_switch_mode(text, text)'::regprocedure,
$was$    IF (SELECT count(*) FROM cursors AS c WHERE c.queue::text = mailroom_switch_mode.queue) > 1 THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = format('the queue has lanes, which the mode ''%s'' does not know', new_mode),
            HINT = 'SELECT mailroom_lanes('''') makes one lane of them.';
    END IF;
$was$,
'')
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
