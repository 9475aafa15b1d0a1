-- Takes the outcomes away. All that is leased or waits to be tried again stays in
-- deliveries as nobody's, and is delivered by every mode.

BEGIN;

DROP VIEW mailroom_totals, mailroom_status;
DROP FUNCTION mailroom_bury(bigint, text);
DROP FUNCTION mailroom_retry(bigint);
DROP FUNCTION mailroom_forget(interval);
DROP FUNCTION mailroom_partitions();
DROP FUNCTION mailroom_spend(text, int, double precision, double precision, bigint);
DROP TABLE budgets, runs;
DELETE FROM deliveries AS d WHERE NOT EXISTS (
    SELECT FROM unnest(d.tokens) WITH ORDINALITY AS u (t, at)
    WHERE NOT EXISTS (SELECT FROM attempts AS a WHERE a.token = u.t
        AND a.number = coalesce(d.numbers[u.at], 1) AND a.outcome <> 'late'));
DROP TABLE attempts;
UPDATE deliveries SET numbers = NULL, errors = NULL, alone = false, due = '-infinity', paid_at = NULL,
    owner = CASE WHEN queue IN (SELECT job_type FROM jobs WHERE mode = 'leased') THEN 0 ELSE owner END;
UPDATE jobs SET mode = 'shared' WHERE mode = 'leased';

COMMIT;
