-- Mends: a look in leased mode that found fewer tokens than make a line leased none of them, and yet
-- spent budget for them. Such looks are frequent, because each answer is followed by one, so much
-- less was sent than the budget allows.
--
-- Only these lines are replaced, in the function as it is: its owner, rights and search
-- path stay.

BEGIN;

DO $$
DECLARE
    f regprocedure := 'mailroom_lease(text, bigint, int, int, timestamptz, double precision,
        double precision, bigint, bool, int)';
    was text := $was$    IF number < fewest AND number > 0 AND NOT line_alone THEN
$was$;
    becomes text := $becomes$    IF number < fewest AND number > 0 AND NOT line_alone THEN
        IF per_s > 0 THEN
            PERFORM mailroom_unspend(queue, sendable);
        END IF;
$becomes$;
BEGIN
    IF strpos(pg_get_functiondef(f), was) = 0 THEN
        RAISE EXCEPTION 'mailroom_lease is not the one that this migration knows';
    END IF;
    EXECUTE replace(pg_get_functiondef(f), was, becomes);
END
$$;

COMMIT;
