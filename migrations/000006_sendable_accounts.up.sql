-- Mends: the output line has no quoting, so a comma in an email or a login
-- forged a field, and a newline forged a whole batch.
--
-- A trigger refuses such a value where it enters. A CHECK … NOT VALID would not
-- do: it is tested on every update, so an account that already had such a value
-- could no longer be activated or suspended. The trigger looks only at values
-- that are new or have changed, and leaves the others to dead_letters.
--
-- Triggers on one event fire in the order of their names: this one comes
-- before account_provision, so nothing is done for an account that is refused.

BEGIN;

CREATE FUNCTION account_check_sendable() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    unsendable CONSTANT text := '[,"\u0001-\u001f\u007f-\u009f]';
    bad text;
BEGIN
    -- OLD is all null on an insert.
    IF NEW.email IS DISTINCT FROM OLD.email AND NEW.email ~ unsendable THEN
        bad := 'email';
    ELSIF NEW.login IS DISTINCT FROM OLD.login AND NEW.login ~ unsendable THEN
        bad := 'login';
    ELSE
        RETURN NEW;
    END IF;
    RAISE EXCEPTION USING
        ERRCODE = 'check_violation',
        MESSAGE = bad || ' must not contain a comma, a double quote or a control character',
        DETAIL = 'The line that the mail sender reads has no quoting.',
        SCHEMA = TG_TABLE_SCHEMA,
        TABLE = TG_TABLE_NAME,
        COLUMN = bad,
        CONSTRAINT = TG_NAME;
END
$$;
CREATE TRIGGER account_check_sendable BEFORE INSERT OR UPDATE OF email, login ON accounts
    FOR EACH ROW EXECUTE FUNCTION account_check_sendable();

COMMIT;
