-- Mends: seconds since 1970 leave a 32-bit integer on 19 January 2038, and
-- from then on no account could be inserted.
--
-- Defaults and trigger functions name no integer type, so they follow their
-- columns. The trigger on consumed_at is made anew because PostgreSQL does not
-- change the type of a column that a trigger depends on. The tables are
-- rewritten: this one takes its time on a large database.

BEGIN;

LOCK TABLE accounts, tokens IN ACCESS EXCLUSIVE MODE;

ALTER TABLE accounts
    ALTER COLUMN created_at TYPE bigint,
    ALTER COLUMN status_changed_at TYPE bigint,
    ALTER COLUMN activated_at TYPE bigint,
    ALTER COLUMN suspended_at TYPE bigint,
    ALTER COLUMN unsuspended_at TYPE bigint;

DROP TRIGGER token_consumed ON tokens;
ALTER TABLE tokens
    ALTER COLUMN expires_at TYPE bigint,
    ALTER COLUMN consumed_at TYPE bigint,
    ALTER COLUMN created_at TYPE bigint;
CREATE TRIGGER token_consumed AFTER UPDATE OF consumed_at ON tokens
    FOR EACH ROW WHEN (NEW.action = 'activation'
        AND OLD.consumed_at IS NULL AND NEW.consumed_at IS NOT NULL)
    EXECUTE FUNCTION token_consumed();

COMMIT;
