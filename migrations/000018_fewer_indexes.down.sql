BEGIN;

CREATE INDEX accounts_id_status_idx ON accounts (id, status);
CREATE INDEX tokens_eligible_idx ON tokens (id, expires_at, consumed_at, action);

COMMIT;
