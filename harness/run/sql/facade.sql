-- What the ledger reads in the database of another queue, in place of the mail schema. The
-- generator inserts one row of mailproof_sent for each job, in the job's own transaction; if the
-- queue's own client puts the jobs, all rows are inserted before the load. The views show each row
-- as an account and a token. Their constants are what the reader of the lines fills in for a job.
CREATE TABLE mailproof_sent (id int PRIMARY KEY, login text NOT NULL);
CREATE VIEW accounts AS
    SELECT id, login, ''::text AS email, 'active'::text AS status, NULL::bigint AS status_changed_at,
           NULL::bigint AS activated_at, NULL::bigint AS suspended_at, NULL::bigint AS unsuspended_at
    FROM mailproof_sent;
CREATE VIEW tokens AS
    SELECT id, id AS account, 'activation'::text AS action, decode(repeat('00', 32), 'hex') AS secret,
           ''::text AS code, 9999999999::bigint AS expires_at, 0::bigint AS created_at, NULL::bigint AS consumed_at
    FROM mailproof_sent;
