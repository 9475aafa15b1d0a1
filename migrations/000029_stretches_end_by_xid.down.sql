-- Lets stretches of the index end by a comparison of rows again.

BEGIN;

DO $$
DECLARE
    f regprocedure := 'mailroom_lease(text, bigint, int, int, timestamptz, double precision,
        double precision, bigint, bool, int)';
    edit record;
BEGIN
    FOR edit IN SELECT * FROM (VALUES
        ($was$                            (x::text::bigint + 1)::text::xid8 AS to_xid
                     FROM pg_snapshot_xip(p.a) AS x
$was$,
$now$                            x AS to_xid, 9223372036854775807 AS to_id
                     FROM pg_snapshot_xip(p.a) AS x
$now$),
        ($was$                            gap.to_xid
$was$,
$now$                            gap.to_xid, -9223372036854775808
$now$),
        ($was$                 ) AS s (part, from_xid, from_id, to_xid)
            WHERE s.from_xid < s.to_xid
$was$,
$now$                 ) AS s (part, from_xid, from_id, to_xid, to_id)
            WHERE (s.from_xid, s.from_id) < (s.to_xid, s.to_id)
$now$),
        ($was$(xid, id) > (s.from_xid, s.from_id) AND xid < s.to_xid
$was$,
$now$(xid, id) > (s.from_xid, s.from_id) AND (xid, id) < (s.to_xid, s.to_id)
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
