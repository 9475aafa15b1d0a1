-- Times after 2038 become the last second that an int can hold, so an expiry
-- among them stays in the future.

BEGIN;

LOCK TABLE accounts, tokens IN ACCESS EXCLUSIVE MODE;

-- STRICT because least() passes over nulls, and would call every token consumed.
CREATE FUNCTION int_epoch(bigint) RETURNS int LANGUAGE sql IMMUTABLE STRICT
    AS 'SELECT least($1, 2147483647)::int';

DROP TRIGGER token_consumed ON tokens;
ALTER TABLE tokens
    ALTER COLUMN expires_at TYPE int USING int_epoch(expires_at),
    ALTER COLUMN consumed_at TYPE int USING int_epoch(consumed_at),
    ALTER COLUMN created_at TYPE int USING int_epoch(created_at);
CREATE TRIGGER token_consumed AFTER UPDATE OF consumed_at ON tokens
    FOR EACH ROW WHEN (NEW.action = 'activation'
        AND OLD.consumed_at IS NULL AND NEW.consumed_at IS NOT NULL)
    EXECUTE FUNCTION token_consumed();

ALTER TABLE accounts
    ALTER COLUMN created_at TYPE int USING int_epoch(created_at),
    ALTER COLUMN status_changed_at TYPE int USING int_epoch(status_changed_at),
    ALTER COLUMN activated_at TYPE int USING int_epoch(activated_at),
    ALTER COLUMN suspended_at TYPE int USING int_epoch(suspended_at),
    ALTER COLUMN unsuspended_at TYPE int USING int_epoch(unsuspended_at);

DROP FUNCTION int_epoch(bigint);

COMMIT;
