-- Mends: a token that the wire format cannot carry was either printed, forging
-- its neighbours, or stopped the queue, or vanished without a word.
--
-- The collector files it here, with its reason, in the transaction that moves
-- the cursor past it. No foreign keys: the record outlives token and account.

BEGIN;

CREATE TABLE dead_letters (
    id         bigserial PRIMARY KEY,
    token      bigint NOT NULL,
    account    bigint NOT NULL,
    action     token_action NOT NULL,
    reason     text NOT NULL,
    created_at bigint DEFAULT extract(epoch FROM now()) NOT NULL
);
CREATE INDEX dead_letters_token_idx ON dead_letters (token);

COMMIT;
