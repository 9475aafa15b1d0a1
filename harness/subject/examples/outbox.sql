-- The outbox: ids of the tokens that no collector has dealt with yet. A trigger
-- adds an id in the transaction that makes the token, so an id appears with its
-- token, however late that transaction commits, and none is skipped.
-- You may run this file again: it then changes nothing.
SELECT pg_advisory_xact_lock(hashtext('outbox setup'));
DO $$
BEGIN
    IF to_regclass('outbox') IS NOT NULL THEN
        RETURN;
    END IF;
    CREATE TABLE outbox (token bigint PRIMARY KEY);
    -- Producers have no rights on the outbox, so the function runs with its owner's rights.
    CREATE FUNCTION outbox_add() RETURNS trigger LANGUAGE plpgsql
        SECURITY DEFINER SET search_path = public, pg_temp
        AS 'BEGIN INSERT INTO outbox VALUES (NEW.id); RETURN NULL; END';
    CREATE TRIGGER outbox_add AFTER INSERT ON tokens FOR EACH ROW EXECUTE FUNCTION outbox_add();
    -- CREATE TRIGGER has waited for all writers. So this statement sees all tokens that the
    -- trigger missed.
    INSERT INTO outbox SELECT id FROM tokens;
END
$$;
