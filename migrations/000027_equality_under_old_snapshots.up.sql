-- Mends: in leased mode a batch cost more with each one before it while
-- somebody kept an old snapshot: six times as much after 20,000. Statements
-- looked rows up by a part of an index's columns, or in a join. While the
-- tables are small all plans cost the same, so the planner chose walks over the
-- whole index, and a session keeps its plans.
--
-- Every row of cursors and deliveries is now asked for by equality in all columns of
-- deliveries_owner_idx or of a primary key. `nobody` is a variable, since a constant would
-- let the planner walk the partial index deliveries_due_idx.
--
-- Only these statements are replaced, in the functions as they are: their owners, rights
-- and search paths stay.

BEGIN;

DO $$
DECLARE
    edit record;
BEGIN
    FOR edit IN SELECT * FROM (VALUES
        ('mailroom_lease(text, bigint, int, int, timestamptz, double precision, double precision, bigint, bool, int)'::regprocedure,
$was$    used_rows bigint[] := '{}';
$was$,
$now$    nobody bigint := 0;
    used_rows bigint[] := '{}';
$now$),
        ('mailroom_lease(text, bigint, int, int, timestamptz, double precision, double precision, bigint, bool, int)'::regprocedure,
$was$    UPDATE cursors AS x SET n = x.n + 1, seen = m.seen, tick = m.tick, xid = m.xid, id = m.id
    FROM unnest(moved) AS m WHERE x.queue = q AND x.lane = m.lane AND x.n = m.n;
$was$,
$now$    FOREACH c IN ARRAY moved LOOP
        UPDATE cursors AS x SET n = c.n + 1, seen = c.seen, tick = c.tick, xid = c.xid, id = c.id
        WHERE x.queue = q AND x.lane = c.lane AND x.n = c.n;
    END LOOP;
$now$),
        ('mailroom_lease(text, bigint, int, int, timestamptz, double precision, double precision, bigint, bool, int)'::regprocedure,
$was$        DELETE FROM deliveries AS x WHERE x.n = ANY (used_rows);
$was$,
$now$        DELETE FROM deliveries AS x
        WHERE x.queue = q AND x.owner = nobody AND x.n = ANY (used_rows);
$now$),
        ('mailroom_lease(text, bigint, int, int, timestamptz, double precision, double precision, bigint, bool, int)'::regprocedure,
$was$        WHERE x.n = shrunk_row;
$was$,
$now$        WHERE x.queue = q AND x.owner = nobody AND x.n = shrunk_row;
$now$),
        ('mailroom_answer(text, bigint, bigint[], bigint[], int[], text[], text[], int[], bigint[], bool[], bigint[], bool)'::regprocedure,
$was$    FROM (SELECT x.n FROM deliveries AS x WHERE x.n = ANY (lines || done) AND x.owner = me
$was$,
$now$    FROM (SELECT x.n FROM deliveries AS x
          WHERE x.queue = q AND x.owner = me AND x.n = ANY (lines || done)
$now$),
        ('mailroom_answer(text, bigint, bigint[], bigint[], int[], text[], text[], int[], bigint[], bool[], bigint[], bool)'::regprocedure,
$was$    SELECT a.t, a.num, me, d.leased_at,
$was$,
$now$    SELECT a.t, a.num, me,
           (SELECT d.leased_at FROM deliveries AS d
            WHERE d.queue = q AND d.owner = me AND d.n = a.line),
$now$),
        ('mailroom_answer(text, bigint, bigint[], bigint[], int[], text[], text[], int[], bigint[], bool[], bigint[], bool)'::regprocedure,
$was$    FROM unnest(lines, tokens, numbers, outcomes, texts) AS a (line, t, num, what, why)
    LEFT JOIN deliveries AS d ON d.n = a.line;
$was$,
$now$    FROM unnest(lines, tokens, numbers, outcomes, texts) AS a (line, t, num, what, why);
$now$),
        ('mailroom_answer(text, bigint, bigint[], bigint[], int[], text[], text[], int[], bigint[], bool[], bigint[], bool)'::regprocedure,
$was$    DELETE FROM deliveries AS x WHERE x.n = ANY (done) AND x.n = ANY (living);
$was$,
$now$    DELETE FROM deliveries AS x WHERE x.queue = q AND x.owner = me AND x.n = ANY (done);
$now$),
        ('mailroom_free_lines(job_type, bigint, bigint[], text)'::regprocedure,
$was$        DELETE FROM deliveries AS x WHERE x.n = d.n;
$was$,
$now$        DELETE FROM deliveries AS x WHERE x.queue = q AND x.owner = gone AND x.n = d.n;
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
