BEGIN;

REVOKE USAGE ON SEQUENCE dead_letters_id_seq FROM mailroom_collector;
REVOKE INSERT ON dead_letters FROM mailroom_collector;
REVOKE SELECT, UPDATE (last_seq, last_xid, epoch) ON jobs FROM mailroom_collector;
REVOKE SELECT ON tokens FROM mailroom_collector;
REVOKE SELECT (id, email, login, status) ON accounts FROM mailroom_collector;

DO $$
BEGIN
    EXECUTE format('REVOKE USAGE ON SCHEMA %I FROM mailroom_collector', current_schema());
END
$$;

-- The role stays while another database of the cluster grants it anything.
DO $$
BEGIN
    DROP ROLE mailroom_collector;
EXCEPTION WHEN dependent_objects_still_exist OR insufficient_privilege THEN
    RAISE NOTICE 'the role mailroom_collector stays: %', SQLERRM;
END
$$;

COMMIT;
