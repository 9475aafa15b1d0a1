-- Mends: when a queue changed from leased to another mode, tokens that were to be tried again were
-- lost: nobody was known as their owner, so no collector of that mode looked for them. The same
-- happened to tokens that mailroom_retry gave to a queue of another mode. And if a collector had been
-- killed, all of its lines came again, even tokens that were answered with sent.
--
-- Only these lines are replaced, in the functions as they are: their owners, rights and search
-- paths stay. What such a change has left behind is found from now on.

BEGIN;

DO $$
DECLARE
    edit record;
BEGIN
    FOR edit IN SELECT * FROM (VALUES
        ('mailroom_switch_mode(text, text)'::regprocedure,
$was$    UPDATE jobs SET mode = new_mode, epoch = epoch + 1, holder = NULL WHERE job_type::text = queue;
$was$,
$now$    IF old_mode = 'leased' THEN
        PERFORM mailroom_free(o.queue::text, o.owner, 'the mode was changed')
        FROM owners AS o
        WHERE o.queue::text = mailroom_switch_mode.queue AND o.owner <> 0;
        INSERT INTO owners (queue, owner)
        SELECT d.queue, 0 FROM deliveries AS d
        WHERE d.queue::text = mailroom_switch_mode.queue AND d.owner = 0 LIMIT 1
        ON CONFLICT DO NOTHING;
    END IF;
    UPDATE jobs SET mode = new_mode, epoch = epoch + 1, holder = NULL WHERE job_type::text = queue;
$now$),
        ('mailroom_retry(bigint)'::regprocedure,
$was$    SELECT job_type, 0, ARRAY[t], ARRAY[last.number + 1], clock_timestamp() FROM jobs LIMIT 1;
    RETURN true;
$was$,
$now$    SELECT job_type, 0, ARRAY[t], ARRAY[last.number + 1], clock_timestamp() FROM jobs LIMIT 1;
    INSERT INTO owners AS o (queue, owner) SELECT job_type, 0 FROM jobs LIMIT 1
    ON CONFLICT (queue, owner) DO UPDATE SET renewed = o.renewed + 1;
    RETURN true;
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

INSERT INTO owners (queue, owner)
SELECT DISTINCT queue, owner FROM deliveries WHERE owner = 0
ON CONFLICT DO NOTHING;

COMMIT;
