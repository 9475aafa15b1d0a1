-- Mends: the collector ran as the owner of the tables, and an attacker who took it
-- over could read, change and drop everything.
--
-- This role can do exactly what the collector does. It cannot log in; make a
-- login for each collector and grant it the role:
--
--     CREATE ROLE mailroom_1 LOGIN PASSWORD '…' IN ROLE mailroom_collector;
--
-- Roles belong to the whole cluster, so another database may have made it.

BEGIN;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'mailroom_collector') THEN
        CREATE ROLE mailroom_collector NOLOGIN;
    END IF;
    -- PostgreSQL lets everybody use the schema public unless told otherwise.
    IF NOT has_schema_privilege('mailroom_collector', current_schema(), 'USAGE') THEN
        EXECUTE format('GRANT USAGE ON SCHEMA %I TO mailroom_collector', current_schema());
    END IF;
END
$$;

GRANT SELECT (id, email, login, status) ON accounts TO mailroom_collector;
GRANT SELECT ON tokens TO mailroom_collector;
GRANT SELECT, UPDATE (last_seq, last_xid, epoch) ON jobs TO mailroom_collector;
GRANT INSERT ON dead_letters TO mailroom_collector;
GRANT USAGE ON SEQUENCE dead_letters_id_seq TO mailroom_collector;

COMMIT;
