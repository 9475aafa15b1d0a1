-- The schema as it was first published, defects included, because the harness
-- must be able to run a collector against it. Each later migration mends one
-- defect and says so in its first lines; README.md lists them.

BEGIN;

-- Undoing this migration drops the extension only if this migration created it.
-- The extension's comment records that.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'pgcrypto') THEN
        CREATE EXTENSION IF NOT EXISTS pgcrypto;
        COMMENT ON EXTENSION pgcrypto IS 'cryptographic functions, created by mailroom 000001';
    END IF;
END
$$;

CREATE TYPE account_status AS ENUM ('provisioned', 'active', 'suspended');
CREATE TYPE token_action AS ENUM ('activation', 'password_recovery');
CREATE TYPE job_type AS ENUM ('mailroom');

-- Times are seconds since 1970. The defaults and the triggers name no integer
-- type for them, so that they follow the type of the column.
CREATE TABLE accounts (
    id                bigserial PRIMARY KEY,
    email             varchar(254) UNIQUE NOT NULL,
    status            account_status DEFAULT 'provisioned' NOT NULL,
    login             varchar(254) UNIQUE NOT NULL,
    created_at        int DEFAULT extract(epoch FROM now()) NOT NULL,
    status_changed_at int,
    activated_at      int,
    suspended_at      int,
    unsuspended_at    int
);
CREATE INDEX accounts_id_status_idx ON accounts (id, status);

-- The foreign key is checked at commit, because an account's first token is
-- inserted just before the account itself.
CREATE TABLE tokens (
    id          bigserial PRIMARY KEY,
    action      token_action NOT NULL,
    secret      bytea DEFAULT gen_random_bytes(32) UNIQUE NOT NULL,
    code        varchar(5) DEFAULT lpad(to_char(random() * 100000, 'FM00000'), 5, '0'),
    account     bigint NOT NULL REFERENCES accounts ON DELETE CASCADE
                DEFERRABLE INITIALLY DEFERRED,
    expires_at  int DEFAULT extract(epoch FROM now() + interval '15 minutes') NOT NULL,
    consumed_at int,
    created_at  int DEFAULT extract(epoch FROM now()) NOT NULL
);
CREATE INDEX tokens_account_idx ON tokens (account);
CREATE INDEX tokens_eligible_idx ON tokens (id, expires_at, consumed_at, action);

CREATE TABLE jobs (
    job_type job_type PRIMARY KEY,
    last_seq bigint
);
CREATE INDEX jobs_last_seq_idx ON jobs (last_seq);
INSERT INTO jobs VALUES ('mailroom', 0);

-- A provisioned account gets its activation token in the same transaction.
CREATE FUNCTION account_provision() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO tokens (action, account) VALUES ('activation', NEW.id);
    RETURN NEW;
END
$$;
CREATE TRIGGER account_provision BEFORE INSERT ON accounts
    FOR EACH ROW WHEN (NEW.status = 'provisioned')
    EXECUTE FUNCTION account_provision();

-- The account's life: provisioned -> active <-> suspended. Lifting the
-- suspension of an account that was never activated takes it back to the start.
CREATE FUNCTION account_change_status() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    epoch bigint := extract(epoch FROM now());
BEGIN
    NEW.status_changed_at := epoch;
    IF NEW.status = 'suspended' THEN
        NEW.suspended_at := epoch;
        NEW.unsuspended_at := NULL;
    ELSIF OLD.status = 'suspended' AND NEW.status = 'active' THEN
        NEW.unsuspended_at := epoch;
        NEW.suspended_at := NULL;
        IF NEW.activated_at IS NULL THEN
            NEW.status := 'provisioned';
        END IF;
    ELSIF OLD.status = 'provisioned' AND NEW.status = 'active' THEN
        NEW.activated_at := epoch;
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER account_change_status BEFORE UPDATE OF status ON accounts
    FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status)
    EXECUTE FUNCTION account_change_status();

-- Consuming an activation token activates its provisioned account.
CREATE FUNCTION token_consumed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE accounts SET status = 'active' WHERE id = NEW.account AND status = 'provisioned';
    RETURN NULL;
END
$$;
CREATE TRIGGER token_consumed AFTER UPDATE OF consumed_at ON tokens
    FOR EACH ROW WHEN (NEW.action = 'activation'
        AND OLD.consumed_at IS NULL AND NEW.consumed_at IS NOT NULL)
    EXECUTE FUNCTION token_consumed();

CREATE FUNCTION token_inserted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NOTIFY token_insert;
    RETURN NULL;
END
$$;
CREATE TRIGGER token_inserted AFTER INSERT ON tokens
    FOR EACH ROW EXECUTE FUNCTION token_inserted();

COMMIT;
