-- Mends: what the queue takes for granted was neither asked nor enforced.
--
-- * A token's number was whatever an INSERT said, so a row that was copied with all its columns was
--   passed over. It is now always that of the transaction that inserts.
-- * A database that is not UTF8 has accounts that no line can carry, and names that look like
--   control characters. Such a database is refused.
-- * Where others may create objects in this schema, their functions and operators are called with
--   the rights of whoever inserts a token, or of the owner of the functions. Such a schema is
--   refused.

BEGIN;

DO $$
DECLARE
    others text;
BEGIN
    IF getdatabaseencoding() <> 'UTF8' THEN
        RAISE feature_not_supported USING
            MESSAGE = format('the database %s has the encoding %s; it must be UTF8',
            current_database(), getdatabaseencoding()),
            HINT = format('createdb -T template0 -E UTF8 NAME && pg_dump %I | psql NAME',
            current_database());
    END IF;
    SELECT string_agg(DISTINCT CASE a.grantee WHEN 0 THEN 'PUBLIC'
        ELSE quote_ident(a.grantee::regrole::text) END, ', ')
    INTO others
    FROM pg_namespace AS n, aclexplode(n.nspacl) AS a
    WHERE n.nspname = current_schema() AND a.privilege_type = 'CREATE' AND a.grantee <> n.nspowner
      AND a.grantee <> current_user::regrole
      AND NOT EXISTS (SELECT FROM pg_roles AS r WHERE r.oid = a.grantee AND r.rolsuper);
    IF others IS NOT NULL THEN
        RAISE insufficient_privilege USING
            MESSAGE = format(
                '%s may create objects in the schema %I, and so act with the rights of others',
                others, current_schema()),
            HINT = format('REVOKE CREATE ON SCHEMA %I FROM %s', current_schema(), others);
    END IF;
END
$$;

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
CREATE FUNCTION here.token_numbered() RETURNS trigger LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    NEW.xid := pg_current_xact_id();
    RETURN NEW;
END
$$
$make$);
CREATE TRIGGER token_numbered BEFORE INSERT ON tokens FOR EACH ROW
    WHEN (NEW.xid IS DISTINCT FROM pg_current_xact_id()) EXECUTE FUNCTION token_numbered();
ALTER TABLE tokens ENABLE ALWAYS TRIGGER token_numbered; -- for logical replication, too

REVOKE EXECUTE ON FUNCTION token_numbered() FROM public;

COMMIT;
