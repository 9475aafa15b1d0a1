-- Mends: in leased mode a look walked the index entries of all tokens that an open
-- transaction had inserted. The end of a stretch of the index was a comparison of rows,
-- (xid, id) < (to_xid, the least id), with which a scan passes all entries of to_xid before
-- it ends. Now it is a comparison of xid alone, as in collector/sql/stretch.sql.
--
-- Only these lines are replaced, in the function as it is: its owner, rights and search
-- path stay.

BEGIN;

DO $$
DECLARE
    f regprocedure := 'mailroom_lease(text, bigint, int, int, timestamptz, double precision,
        double precision, bigint, bool, int)';
    edit record;
BEGIN
    FOR edit IN SELECT * FROM (VALUES
        ($was$                            x AS to_xid, 9223372036854775807 AS to_id
                     FROM pg_snapshot_xip(p.a) AS x
$was$,
$now$                            (x::text::bigint + 1)::text::xid8 AS to_xid
                     FROM pg_snapshot_xip(p.a) AS x
$now$),
        ($was$                            gap.to_xid, -9223372036854775808
$was$,
$now$                            gap.to_xid
$now$),
        ($was$                 ) AS s (part, from_xid, from_id, to_xid, to_id)
            WHERE (s.from_xid, s.from_id) < (s.to_xid, s.to_id)
$was$,
$now$                 ) AS s (part, from_xid, from_id, to_xid)
            WHERE s.from_xid < s.to_xid
$now$),
        ($was$(xid, id) > (s.from_xid, s.from_id) AND (xid, id) < (s.to_xid, s.to_id)
$was$,
$now$(xid, id) > (s.from_xid, s.from_id) AND xid < s.to_xid
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
