-- Mends: the functions of the queue acted with the rights of whoever ran the migrations, often a
-- superuser. A trigger of somebody else's on one of the tables, or a mistake in a function, had
-- these rights, too.
--
-- The functions now belong to the role mailroom_owner, which neither logs in nor is superuser, and
-- has the rights on the tables that the functions need. The tables stay with their owner: an
-- application may connect as the tables' owner, and must not lose its rights.
--
-- Row security does not apply to a superuser or the tables' owner, but it does to this role. The
-- functions refuse a table of which rows are hidden from them (row_security = off), so the role gets
-- BYPASSRLS where a superuser makes it. It reads no table that it was not granted.
--
-- Roles belong to the whole cluster, so another database may have made it.

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

-- For administrators: gives the functions to mailroom_owner, makes that role where it is missing,
-- and gives it its rights. It changes nothing where all is right, and mends what a restored dump
-- lacks. It needs a superuser, or a role that owns the functions and the schema and either may make
-- roles or is a member of mailroom_owner.
CALL pg_temp.make($make$
CREATE FUNCTION here.mailroom_secure() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    schema_ regnamespace := (SELECT relnamespace FROM pg_class WHERE oid = 'here.tokens'::regclass);
    tables_owner regrole := (SELECT relowner FROM pg_class WHERE oid = 'here.tokens'::regclass);
    super bool := (SELECT rolsuper FROM pg_roles WHERE rolname = current_user);
    f regprocedure;
    lent bool;
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'mailroom_owner') THEN
        CREATE ROLE mailroom_owner NOLOGIN;
    END IF;
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'mailroom_owner' AND (rolsuper OR rolcanlogin
        OR rolcreaterole OR rolcreatedb OR rolreplication)) THEN
        ALTER ROLE mailroom_owner NOSUPERUSER NOLOGIN NOCREATEROLE NOCREATEDB NOREPLICATION;
    END IF;
    IF super AND NOT (SELECT rolbypassrls FROM pg_roles WHERE rolname = 'mailroom_owner') THEN
        ALTER ROLE mailroom_owner BYPASSRLS;
    END IF;
    -- The tables' owner can still replace and drop the functions, and call those that it is not
    -- granted. Without the membership no one but a superuser could give a function away.
    IF NOT pg_has_role(tables_owner, 'mailroom_owner', 'USAGE') THEN
        EXECUTE format('GRANT mailroom_owner TO %s', tables_owner);
    END IF;

    EXECUTE format('GRANT USAGE ON SCHEMA %s TO mailroom_owner', schema_);
    GRANT SELECT (id, email, login, status) ON here.accounts TO mailroom_owner;
    GRANT SELECT, UPDATE (xid) ON here.tokens TO mailroom_owner;
    GRANT SELECT, UPDATE (mode, cluster, epoch, holder, renewed, last_seq) ON here.jobs
        TO mailroom_owner;
    GRANT SELECT, UPDATE (n, seen, tick, xid, id, written) ON here.cursors TO mailroom_owner;
    GRANT SELECT, INSERT, DELETE, UPDATE (renewed) ON here.owners TO mailroom_owner;
    GRANT SELECT, INSERT, UPDATE, DELETE ON here.deliveries TO mailroom_owner;
    GRANT SELECT, INSERT, UPDATE ON here.budgets TO mailroom_owner;
    GRANT SELECT, INSERT ON here.attempts TO mailroom_owner;
    GRANT INSERT ON here.runs, here.dead_letters TO mailroom_owner;
    GRANT USAGE ON SEQUENCE here.dead_letters_id_seq TO mailroom_owner;
    FOR f IN SELECT p.oid FROM pg_proc AS p WHERE p.pronamespace = schema_ AND p.proname IN (
        'mailroom_lock_key', 'mailroom_untaken', 'mailroom_clamp', 'mailroom_refuse',
        'mailroom_now', 'mailroom_ended', 'mailroom_behind', 'mailroom_walk', 'mailroom_unsendable',
        'mailroom_suspect', 'mailroom_place', 'mailroom_examine', 'mailroom_locks',
        'mailroom_release')
    LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO mailroom_owner', f);
    END LOOP;

    -- A function's new owner must be allowed to create in the schema, at this moment.
    lent := NOT has_schema_privilege('mailroom_owner', schema_, 'CREATE');
    IF lent THEN
        EXECUTE format('GRANT CREATE ON SCHEMA %s TO mailroom_owner', schema_);
    END IF;
    FOR f IN SELECT p.oid FROM pg_proc AS p WHERE p.pronamespace = schema_ AND p.prosecdef
        AND (p.proname LIKE 'mailroom\_%' OR p.proname = 'tokens_truncated')
        AND p.proowner <> 'mailroom_owner'::regrole
    LOOP
        EXECUTE format('ALTER FUNCTION %s OWNER TO mailroom_owner', f);
    END LOOP;
    IF lent THEN
        EXECUTE format('REVOKE CREATE ON SCHEMA %s FROM mailroom_owner', schema_);
    END IF;
END
$$
$make$);
REVOKE EXECUTE ON FUNCTION mailroom_secure() FROM public;

-- A migrator who may not make roles keeps the functions, and a warning says what a superuser can do.
-- The queue works with these, if the migrator owns the tables.
DO $$
BEGIN
    PERFORM mailroom_secure();
EXCEPTION WHEN insufficient_privilege THEN
    RAISE WARNING USING
        MESSAGE = format('the functions of the queue act with the rights of %s: %s', current_user,
            SQLERRM),
        HINT = format('Have a superuser run: SELECT %I.mailroom_secure()', current_schema());
END
$$;

COMMIT;
