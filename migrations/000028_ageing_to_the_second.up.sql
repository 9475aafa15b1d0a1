-- Mends: times of tokens are rounded to the nearest second, and mailroom_lease treated
-- them as rounded down. So a lower lane got its turn up to 1.5 s after the ageing bound; now
-- it is 1 s at most, and never before the bound. And a lower lane whose first thousand
-- tokens had all expired got no turn at all while the higher one had a backlog.
--
-- Only the rule is replaced, in the function as it is: its owner, rights and search path
-- stay.

BEGIN;

DO $$
DECLARE
    f regprocedure := 'mailroom_lease(text, bigint, int, int, timestamptz, double precision,
        double precision, bigint, bool, int)';
    was text := $was$            -- Times of tokens are whole seconds, rounded down.
            CONTINUE WHEN last.oldest IS NULL OR last.oldest + 1 + ageing_s > now_s;
$was$;
    becomes text := $becomes$            -- Times of tokens are whole seconds, rounded to the nearest. A lane of which
            -- no token can be sent goes on: one that has aged may stand behind them.
            CONTINUE WHEN last.oldest + 0.5 + ageing_s > now_s;
$becomes$;
BEGIN
    IF strpos(pg_get_functiondef(f), was) = 0 THEN
        RAISE EXCEPTION 'mailroom_lease is not the one that this migration knows';
    END IF;
    EXECUTE replace(pg_get_functiondef(f), was, becomes);
END
$$;

COMMIT;
