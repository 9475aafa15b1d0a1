-- The functions go to the owner of the tables.

BEGIN;

DROP FUNCTION mailroom_secure();

DO $$
DECLARE
    f regprocedure;
    part regclass;
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'mailroom_owner') THEN
        RETURN;
    END IF;
    FOR f IN SELECT oid FROM pg_proc WHERE pronamespace = current_schema()::regnamespace
        AND proowner = 'mailroom_owner'::regrole
    LOOP
        EXECUTE format('ALTER FUNCTION %s OWNER TO %s', f,
            (SELECT relowner::regrole FROM pg_class WHERE oid = 'tokens'::regclass));
    END LOOP;
    FOR f IN SELECT oid FROM pg_proc WHERE pronamespace = current_schema()::regnamespace
        AND proname LIKE 'mailroom\_%' AND prokind = 'f'
    LOOP
        EXECUTE format('REVOKE ALL ON FUNCTION %s FROM mailroom_owner', f);
    END LOOP;
    REVOKE ALL ON accounts, tokens, jobs, cursors, owners, deliveries, budgets, attempts, runs,
        dead_letters FROM mailroom_owner;
    -- The first partition was the table.
    FOR part IN SELECT p.part FROM mailroom_token_partitions() AS p LOOP
        EXECUTE format('REVOKE ALL ON %s FROM mailroom_owner', part);
    END LOOP;
    REVOKE ALL ON SEQUENCE dead_letters_id_seq FROM mailroom_owner;
    EXECUTE format('REVOKE ALL ON SCHEMA %I FROM mailroom_owner', current_schema());
END
$$;

-- The role stays while another database of the cluster grants it anything.
DO $$
BEGIN
    DROP ROLE IF EXISTS mailroom_owner;
EXCEPTION WHEN dependent_objects_still_exist OR insufficient_privilege THEN
    RAISE NOTICE 'the role mailroom_owner stays: %', SQLERRM;
END
$$;

COMMIT;
