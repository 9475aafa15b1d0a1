-- Mends: every inserted token cost a notification, and each commit with one took
-- a lock that all of the server's notifying transactions share.
--
-- With `SELECT mailroom_announce('bell')` producers announce a token only while a
-- collector sleeps. Such a collector holds the bell, an advisory lock. The trigger
-- tests whether that lock is free, and lets it go at once. A collector that is
-- about to sleep takes the bell and then looks at the queue, in a new statement. A
-- producer that stayed silent before has its transaction number already, so the
-- look sees its tokens, or sees that its transaction is running.
--
-- 'each' announces every token, as before, for collectors of other makers; 'never'
-- announces none. A transaction with a notification cannot be prepared for
-- two-phase commit, so a producer can be silent by itself, with
-- SET mailroom.announce = 'never'. Listening collectors are notified when the
-- setting changes, and then ask for the new one.

BEGIN;

-- Executes a statement, with the name of this schema in place of `here`. The functions name every
-- table by its schema, and their search path has pg_catalog alone. So no function, operator or
-- table that another role makes can come in between.
CREATE OR REPLACE PROCEDURE pg_temp.make(statement text) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE regexp_replace(statement, '\mhere\.(?=[a-z%])', quote_ident(current_schema()) || '.',
    'g');
END
$$;

CALL pg_temp.make($make$
CREATE FUNCTION here.token_rings() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF current_setting('mailroom.announce', true) = 'never' THEN
        RETURN NULL;
    END IF;
    -- One expression takes the lock and releases it, because no cancel is served within it.
    IF NOT (CASE WHEN pg_try_advisory_lock_shared(TG_ARGV[0]::bigint)
                 THEN pg_advisory_unlock_shared(TG_ARGV[0]::bigint) ELSE false END) THEN
        PERFORM pg_notify('token_insert', NEW.id::text);
    END IF;
    RETURN NULL;
END
$$
$make$);

-- The bell's number is that of the schema, and an argument of the trigger, so that
-- producers need not look it up.
DO $$
BEGIN
    EXECUTE format('CREATE TRIGGER token_rings AFTER INSERT ON tokens
        FOR EACH ROW EXECUTE FUNCTION token_rings(%L)',
        hashtextextended('mailroom bell ' || current_schema(), 0));
END
$$;
ALTER TABLE tokens DISABLE TRIGGER token_rings;

-- Returns the bell's number; null while producers do not use the bell.
CREATE FUNCTION mailroom_bell() RETURNS bigint
LANGUAGE sql STABLE AS $$
    SELECT convert_from(substring(tgargs FROM 1 FOR length(tgargs) - 1), 'UTF8')::bigint
    FROM pg_trigger
    WHERE tgrelid = 'tokens'::regclass AND tgname = 'token_rings' AND tgenabled <> 'D'
$$;

CREATE FUNCTION mailroom_announce(how text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF how NOT IN ('each', 'bell', 'never') THEN
        RAISE invalid_parameter_value USING MESSAGE = format('%L is not each, bell or never', how);
    END IF;
    EXECUTE format('ALTER TABLE tokens %s TRIGGER token_inserted',
        CASE how WHEN 'each' THEN 'ENABLE' ELSE 'DISABLE' END);
    EXECUTE format('ALTER TABLE tokens %s TRIGGER token_rings',
        CASE how WHEN 'bell' THEN 'ENABLE' ELSE 'DISABLE' END);
    PERFORM pg_notify('token_insert', 'announce ' || how);
END
$$;

DO $$
DECLARE
    f regprocedure;
BEGIN
    FOREACH f IN ARRAY ARRAY['mailroom_bell()', 'mailroom_announce(text)']::regprocedure[]
    LOOP
        EXECUTE format('ALTER FUNCTION %s SET search_path = pg_catalog, %I, pg_temp',
            f, current_schema());
    END LOOP;
END
$$;
REVOKE EXECUTE ON FUNCTION mailroom_announce(text), mailroom_bell() FROM public;
GRANT EXECUTE ON FUNCTION mailroom_bell() TO mailroom_collector;

COMMIT;
