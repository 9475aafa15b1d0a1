-- Spends budget for tokens that are too few for a line again.

BEGIN;

DO $$
DECLARE
    f regprocedure := 'mailroom_lease(text, bigint, int, int, timestamptz, double precision,
        double precision, bigint, bool, int)';
    was text := $was$    IF number < fewest AND number > 0 AND NOT line_alone THEN
        IF per_s > 0 THEN
            PERFORM mailroom_unspend(queue, sendable);
        END IF;
$was$;
    becomes text := $becomes$    IF number < fewest AND number > 0 AND NOT line_alone THEN
$becomes$;
BEGIN
    IF strpos(pg_get_functiondef(f), was) = 0 THEN
        RAISE EXCEPTION 'mailroom_lease is not the one that this migration knows';
    END IF;
    EXECUTE replace(pg_get_functiondef(f), was, becomes);
END
$$;

COMMIT;
