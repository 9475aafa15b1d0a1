-- A subject's database as the ledger reads it: the generator leaves one row for each
-- job, in the job's own transaction, and the views show it as an account and a token.
-- The constants are those that the reader gives to a job that it has read.
CREATE TABLE mailproof_sent (id int PRIMARY KEY, login text NOT NULL);
CREATE VIEW accounts AS SELECT id, login, ''::text AS email, 'active'::text AS status FROM mailproof_sent;
CREATE VIEW tokens AS
    SELECT id, id AS account, 'activation'::text AS action, decode(repeat('00', 32), 'hex') AS secret,
           ''::text AS code, 9999999999::bigint AS expires_at, NULL::bigint AS consumed_at
    FROM mailproof_sent;
