-- Mends: a token that the wire format cannot carry was printed and forged its
-- neighbours, or it stopped the queue, or it vanished without a trace.
--
-- The collector records it here, with the reason, in the transaction that moves
-- the cursor past it. There are no foreign keys, because the record outlives
-- token and account.

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
