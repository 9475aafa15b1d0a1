-- Looks up once for each token since when its line has been leased, as before.

BEGIN;

DO $$
DECLARE
    f regprocedure := 'mailroom_answer(text, bigint, bigint[], bigint[], int[], text[], text[],
        int[], bigint[], bool[], bigint[], bool)';
    edit record;
BEGIN
    FOR edit IN SELECT * FROM (VALUES
        ($was$    SELECT a.t, a.num, me, since[array_position(living, a.line)],
$was$,
$now$    SELECT a.t, a.num, me,
           (SELECT d.leased_at FROM deliveries AS d
            WHERE d.queue = q AND d.owner = me AND d.n = a.line),
$now$),
        ($was$    SELECT coalesce(array_agg(l.n), '{}'), array_agg(l.leased_at) INTO living, since
    FROM (SELECT x.n, x.leased_at FROM deliveries AS x
$was$,
$now$    SELECT coalesce(array_agg(l.n), '{}') INTO living
    FROM (SELECT x.n FROM deliveries AS x
$now$),
        ($was$    living bigint[];
    since timestamptz[];
$was$,
$now$    living bigint[];
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
