-- Takes the outcomes away. All that is leased or waits to be tried again stays in
-- deliveries as nobody's, and is delivered by every mode.

BEGIN;

DROP VIEW mailroom_totals, mailroom_status;
DROP FUNCTION mailroom_bury(bigint, text);
DROP FUNCTION mailroom_retry(bigint);
DROP FUNCTION mailroom_forget(interval);
DROP FUNCTION mailroom_partitions();
DROP FUNCTION mailroom_renew(text, bigint);
DROP FUNCTION mailroom_leave(text, bigint, text, bigint);
DROP FUNCTION mailroom_join(text, bigint, bigint[], text, text, text);
DROP FUNCTION mailroom_free(text, bigint, text, bigint);
DROP FUNCTION mailroom_free_lines(job_type, bigint, bigint[], text);
DROP FUNCTION mailroom_others(text, bigint);
DROP FUNCTION mailroom_answer(text, bigint, bigint[], bigint[], int[], text[], text[], int[],
    bigint[], bool[], bigint[], bool);
DROP FUNCTION mailroom_lease(text, bigint, int, int, timestamptz, double precision,
    double precision, bigint, bool, int);
DROP FUNCTION mailroom_next_due(job_type, timestamptz);
DROP FUNCTION mailroom_aged(cursors, int);
DROP FUNCTION mailroom_ahead(token_action[], pg_snapshot, pg_snapshot, xid8, bigint, int);
DROP FUNCTION mailroom_passed(tokens, account_status);
DROP FUNCTION mailroom_unspend(text, int);
DROP FUNCTION mailroom_spend(text, int, double precision, double precision, bigint);
DROP TABLE budgets, runs;
DELETE FROM deliveries AS d WHERE NOT EXISTS (
    SELECT FROM unnest(d.tokens) WITH ORDINALITY AS u (t, at)
    WHERE NOT EXISTS (SELECT FROM attempts AS a WHERE a.token = u.t
        AND a.number = coalesce(d.numbers[u.at], 1) AND a.outcome <> 'late'));
DROP TABLE attempts;
DROP INDEX deliveries_due_idx;
ALTER TABLE deliveries DROP COLUMN numbers, DROP COLUMN errors, DROP COLUMN alone, DROP COLUMN due,
    DROP COLUMN leased_at;
UPDATE deliveries SET owner = 0 WHERE queue IN (SELECT job_type FROM jobs WHERE mode = 'leased');
UPDATE jobs SET mode = 'shared' WHERE mode = 'leased';

COMMIT;
