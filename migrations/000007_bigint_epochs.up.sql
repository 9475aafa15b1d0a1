-- Mends: seconds since 1970 leave a 32-bit integer on 19 January 2038, and
-- from then on no account could be inserted.
--
-- Defaults and trigger functions name no integer type, so they follow their
-- columns. The trigger on consumed_at is made anew because PostgreSQL does not
-- change the type of a column that a trigger depends on.
--
-- Where the online file has finished, its columns take the place of the old
-- ones, and no row is read. Otherwise the tables are rewritten, which takes long
-- on a large database, and the columns that the online file has begun are
-- removed.

BEGIN;

SET LOCAL client_min_messages = warning; -- no notice about objects to drop that do not exist

LOCK TABLE accounts, tokens IN ACCESS EXCLUSIVE MODE;

DROP TRIGGER token_consumed ON tokens;

CREATE TEMPORARY TABLE prepared ON COMMIT DROP AS
    SELECT (SELECT count(*) = 2 FROM pg_constraint
            WHERE (conrelid, conname) IN (('accounts'::regclass, 'accounts_next_filled'),
                ('tokens'::regclass, 'tokens_next_filled')) AND convalidated)
       AND (SELECT count(*) = 2 FROM pg_index
            WHERE indexrelid IN (to_regclass('tokens_eligible_next_idx'),
                to_regclass('tokens_xid_id_next_idx')) AND indisvalid) AS whole;

DO $$
BEGIN
    IF NOT (SELECT whole FROM prepared) THEN
        RETURN;
    END IF;
    ALTER TABLE accounts DROP created_at, DROP status_changed_at, DROP activated_at,
        DROP suspended_at, DROP unsuspended_at;
    ALTER TABLE accounts RENAME created_at_next TO created_at;
    ALTER TABLE accounts RENAME status_changed_at_next TO status_changed_at;
    ALTER TABLE accounts RENAME activated_at_next TO activated_at;
    ALTER TABLE accounts RENAME suspended_at_next TO suspended_at;
    ALTER TABLE accounts RENAME unsuspended_at_next TO unsuspended_at;
    ALTER TABLE accounts ALTER created_at SET DEFAULT extract(epoch FROM now()),
        ALTER created_at SET NOT NULL;

    ALTER TABLE tokens DROP expires_at, DROP consumed_at, DROP created_at, DROP xid; -- and their indexes
    ALTER TABLE tokens RENAME expires_at_next TO expires_at;
    ALTER TABLE tokens RENAME consumed_at_next TO consumed_at;
    ALTER TABLE tokens RENAME created_at_next TO created_at;
    ALTER TABLE tokens RENAME xid_next TO xid;
    ALTER TABLE tokens
        ALTER expires_at SET DEFAULT extract(epoch FROM now() + interval '15 minutes'),
        ALTER expires_at SET NOT NULL,
        ALTER created_at SET DEFAULT extract(epoch FROM now()),
        ALTER created_at SET NOT NULL,
        ALTER xid SET DEFAULT pg_current_xact_id(),
        ALTER xid SET NOT NULL;
    ALTER INDEX tokens_eligible_next_idx RENAME TO tokens_eligible_idx;
    ALTER INDEX tokens_xid_id_next_idx RENAME TO tokens_xid_id_idx;
END
$$;

ALTER TABLE accounts DROP CONSTRAINT IF EXISTS accounts_next_filled;
ALTER TABLE tokens DROP CONSTRAINT IF EXISTS tokens_next_filled;
DROP TRIGGER IF EXISTS zzz_fill_next ON accounts;
DROP TRIGGER IF EXISTS zzz_fill_next ON tokens;
DROP FUNCTION IF EXISTS account_fill_next();
DROP FUNCTION IF EXISTS token_fill_next();

DO $$
BEGIN
    IF (SELECT whole FROM prepared) THEN
        RETURN;
    END IF;
    ALTER TABLE accounts
        DROP COLUMN IF EXISTS created_at_next, DROP COLUMN IF EXISTS status_changed_at_next,
        DROP COLUMN IF EXISTS activated_at_next, DROP COLUMN IF EXISTS suspended_at_next,
        DROP COLUMN IF EXISTS unsuspended_at_next,
        ALTER COLUMN created_at TYPE bigint,
        ALTER COLUMN status_changed_at TYPE bigint,
        ALTER COLUMN activated_at TYPE bigint,
        ALTER COLUMN suspended_at TYPE bigint,
        ALTER COLUMN unsuspended_at TYPE bigint;
    ALTER TABLE tokens
        DROP COLUMN IF EXISTS expires_at_next, DROP COLUMN IF EXISTS consumed_at_next,
        DROP COLUMN IF EXISTS created_at_next, DROP COLUMN IF EXISTS xid_next,
        ALTER COLUMN expires_at TYPE bigint,
        ALTER COLUMN consumed_at TYPE bigint,
        ALTER COLUMN created_at TYPE bigint;
END
$$;

CREATE TRIGGER token_consumed AFTER UPDATE OF consumed_at ON tokens
    FOR EACH ROW WHEN (NEW.action = 'activation'
        AND OLD.consumed_at IS NULL AND NEW.consumed_at IS NOT NULL)
    EXECUTE FUNCTION token_consumed();

COMMIT;
