-- Treats the times of tokens as rounded down again.

BEGIN;

DO $$
DECLARE
    f regprocedure := 'mailroom_lease(text, bigint, int, int, timestamptz, double precision,
        double precision, bigint, bool, int)';
    was text := $was$            -- Times of tokens are whole seconds, rounded to the nearest. A lane of which
            -- no token can be sent goes on: one that has aged may stand behind them.
            CONTINUE WHEN last.oldest + 0.5 + ageing_s > now_s;
$was$;
    becomes text := $becomes$            -- Times of tokens are whole seconds, rounded down.
            CONTINUE WHEN last.oldest IS NULL OR last.oldest + 1 + ageing_s > now_s;
$becomes$;
BEGIN
    IF strpos(pg_get_functiondef(f), was) = 0 THEN
        RAISE EXCEPTION 'mailroom_lease is not the one that this migration knows';
    END IF;
    EXECUTE replace(pg_get_functiondef(f), was, becomes);
END
$$;

COMMIT;
