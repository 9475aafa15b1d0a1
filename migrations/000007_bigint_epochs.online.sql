-- Does the slow part of 000007 while others work. README.md says when to run it.
--
-- A type cannot be changed without rewriting the table under a lock. So each column gets
-- a successor; a trigger keeps it equal, and the old rows are filled in batches. 000007
-- then only exchanges the names. tokens.xid is among them, so that the order of the
-- columns stays. The old row versions take as much room as the table;
-- vacuum can reuse it.

\ir online.psql

SELECT pg_temp.has('tokens', 'xid') AND format_type(atttypid, NULL) = 'integer' AS due
FROM pg_attribute WHERE attrelid = 'accounts'::regclass AND attname = 'created_at' \gset
\if :due

-- Refuses if indexes, constraints, statistics, rights or comments of your own are on
-- the columns: dropping a column would drop these, too, without a warning.
DO $$
DECLARE
    found text;
BEGIN
    SELECT string_agg(what, ', ') INTO found
    FROM (SELECT 'the index ' || indexrelid::regclass AS what FROM pg_index
          WHERE indrelid IN ('accounts'::regclass, 'tokens'::regclass)
            AND indexrelid <> ALL (ARRAY['accounts_pkey', 'accounts_email_key', 'accounts_login_key',
                'accounts_id_status_idx', 'tokens_pkey', 'tokens_secret_key', 'tokens_account_idx',
                'tokens_eligible_idx', 'tokens_xid_id_idx']::regclass[])
            AND indexrelid::regclass::text !~ '_next_idx$'
          UNION ALL
          SELECT 'the constraint ' || conname FROM pg_constraint
          WHERE conrelid IN ('accounts'::regclass, 'tokens'::regclass) AND contype = 'c'
            AND conname !~ '_next_filled$'
          UNION ALL
          SELECT 'the statistics ' || stxname FROM pg_statistic_ext
          WHERE stxrelid IN ('accounts'::regclass, 'tokens'::regclass)
          UNION ALL
          SELECT format('rights or a comment on %s.%s', attrelid::regclass, attname)
          FROM pg_attribute
          WHERE attrelid IN ('accounts'::regclass, 'tokens'::regclass) AND attnum > 0
            AND (attacl IS NOT NULL OR col_description(attrelid, attnum) IS NOT NULL)) AS ours;
    IF found IS NOT NULL THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = 'these are not of the migrations and would be lost: ' || found,
            HINT = 'Drop them and make them again afterwards, or let 000007 rewrite the tables.';
    END IF;
END
$$;

CREATE OR REPLACE FUNCTION account_fill_next() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.created_at_next := NEW.created_at;
    NEW.status_changed_at_next := NEW.status_changed_at;
    NEW.activated_at_next := NEW.activated_at;
    NEW.suspended_at_next := NEW.suspended_at;
    NEW.unsuspended_at_next := NEW.unsuspended_at;
    RETURN NEW;
END
$$;
CREATE OR REPLACE FUNCTION token_fill_next() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.expires_at_next := NEW.expires_at;
    NEW.consumed_at_next := NEW.consumed_at;
    NEW.created_at_next := NEW.created_at;
    NEW.xid_next := NEW.xid;
    RETURN NEW;
END
$$;

-- Triggers fire in the order of their names: these see what the others have set.
SELECT pg_temp.briefly($$
    ALTER TABLE accounts
        ADD COLUMN IF NOT EXISTS created_at_next bigint,
        ADD COLUMN IF NOT EXISTS status_changed_at_next bigint,
        ADD COLUMN IF NOT EXISTS activated_at_next bigint,
        ADD COLUMN IF NOT EXISTS suspended_at_next bigint,
        ADD COLUMN IF NOT EXISTS unsuspended_at_next bigint,
        DROP CONSTRAINT IF EXISTS accounts_next_filled;
    DROP TRIGGER IF EXISTS zzz_fill_next ON accounts;
    CREATE TRIGGER zzz_fill_next BEFORE INSERT OR UPDATE ON accounts
        FOR EACH ROW EXECUTE FUNCTION account_fill_next();
    ALTER TABLE accounts ADD CONSTRAINT accounts_next_filled
        CHECK (created_at_next IS NOT NULL) NOT VALID
$$);
SELECT pg_temp.briefly($$
    ALTER TABLE tokens
        ADD COLUMN IF NOT EXISTS expires_at_next bigint,
        ADD COLUMN IF NOT EXISTS consumed_at_next bigint,
        ADD COLUMN IF NOT EXISTS created_at_next bigint,
        ADD COLUMN IF NOT EXISTS xid_next xid8,
        DROP CONSTRAINT IF EXISTS tokens_next_filled;
    DROP TRIGGER IF EXISTS zzz_fill_next ON tokens;
    CREATE TRIGGER zzz_fill_next BEFORE INSERT OR UPDATE ON tokens
        FOR EACH ROW EXECUTE FUNCTION token_fill_next();
    ALTER TABLE tokens ADD CONSTRAINT tokens_next_filled CHECK (expires_at_next IS NOT NULL
        AND created_at_next IS NOT NULL AND xid_next IS NOT NULL) NOT VALID
$$);

-- Rows that others hold are passed over and looked at again, so that this procedure never waits
-- for anybody while it holds rows itself. The planner has no statistics of the new columns and
-- takes empty ones for rare; a range of ids keeps it from reading the whole table each time.
CREATE OR REPLACE PROCEDURE pg_temp.fill_next(table_ regclass) LANGUAGE plpgsql AS $$
DECLARE
    first_ CONSTANT bigint := -9223372036854775808;
    after bigint := first_;
    upto bigint;
    missing bool;
BEGIN
    LOOP
        EXECUTE format('SELECT max(id) FROM (
            SELECT id FROM %s WHERE id > $1 ORDER BY id LIMIT 5000) AS batch', table_)
            INTO upto USING after;
        IF upto IS NOT NULL THEN
            EXECUTE format('UPDATE %1$s SET created_at_next = created_at
                WHERE id = ANY (ARRAY(SELECT id FROM %1$s
                    WHERE id > $1 AND id <= $2 AND created_at_next IS NULL
                    FOR NO KEY UPDATE SKIP LOCKED))', table_) USING after, upto;
            COMMIT;
            after := upto;
            CONTINUE;
        END IF;
        EXECUTE format('SELECT EXISTS (SELECT FROM %s WHERE created_at_next IS NULL)', table_) INTO missing;
        EXIT WHEN NOT missing;
        COMMIT;
        after := first_;
        PERFORM pg_sleep(0.2);
    END LOOP;
END
$$;
CALL pg_temp.fill_next('accounts');
CALL pg_temp.fill_next('tokens');

-- With these constraints validated, 000007 sets NOT NULL without reading the rows.
ALTER TABLE accounts VALIDATE CONSTRAINT accounts_next_filled;
ALTER TABLE tokens VALIDATE CONSTRAINT tokens_next_filled;

-- An earlier call that was interrupted left an invalid index.
DROP INDEX CONCURRENTLY IF EXISTS tokens_eligible_next_idx;
CREATE INDEX CONCURRENTLY tokens_eligible_next_idx
    ON tokens (id, expires_at_next, consumed_at_next, action);
DROP INDEX CONCURRENTLY IF EXISTS tokens_xid_id_next_idx;
CREATE INDEX CONCURRENTLY tokens_xid_id_next_idx ON tokens (xid_next, id);
\endif
