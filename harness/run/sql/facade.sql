-- The tables and views by which the ledger reads a subject's database. The generator leaves one
-- row for each job, in the job's own transaction. The views show each row as an account and a
-- token. Their constants are the fields that the reader gives to a job in a line.
CREATE TABLE mailproof_sent (id int PRIMARY KEY, login text NOT NULL);
CREATE VIEW accounts AS
    SELECT id, login, ''::text AS email, 'active'::text AS status, NULL::bigint AS status_changed_at,
           NULL::bigint AS activated_at, NULL::bigint AS suspended_at, NULL::bigint AS unsuspended_at
    FROM mailproof_sent;
CREATE VIEW tokens AS
    SELECT id, id AS account, 'activation'::text AS action, decode(repeat('00', 32), 'hex') AS secret,
           ''::text AS code, 9999999999::bigint AS expires_at, 0::bigint AS created_at, NULL::bigint AS consumed_at
    FROM mailproof_sent;
