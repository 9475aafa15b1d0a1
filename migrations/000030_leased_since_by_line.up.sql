-- Mends: in leased mode each answer looked its line up in deliveries once more, to learn since when
-- the line had been leased. Under an old snapshot that index has two levels more, and the look-up
-- for each token read them. Now the statement that locks the lines learns it, once for each line.
--
-- Only these lines are replaced, in the function as it is: its owner, rights and search path stay.

BEGIN;

DO $$
DECLARE
    f regprocedure := 'mailroom_answer(text, bigint, bigint[], bigint[], int[], text[], text[],
        int[], bigint[], bool[], bigint[], bool)';
    edit record;
BEGIN
    FOR edit IN SELECT * FROM (VALUES
        ($was$    living bigint[];
$was$,
$now$    living bigint[];
    since timestamptz[];
$now$),
        ($was$    SELECT coalesce(array_agg(l.n), '{}') INTO living
    FROM (SELECT x.n FROM deliveries AS x
$was$,
$now$    SELECT coalesce(array_agg(l.n), '{}'), array_agg(l.leased_at) INTO living, since
    FROM (SELECT x.n, x.leased_at FROM deliveries AS x
$now$),
        ($was$    SELECT a.t, a.num, me,
           (SELECT d.leased_at FROM deliveries AS d
            WHERE d.queue = q AND d.owner = me AND d.n = a.line),
$was$,
$now$    SELECT a.t, a.num, me, since[array_position(living, a.line)],
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
