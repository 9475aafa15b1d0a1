-- Returns the columns of read.sql for the waiting tokens that nobody has claimed: those in
-- deliveries of owner 0 or, when there are none, those behind the cursor. With $3 it also claims
-- the rows of a batch, by deliveries with our number, if the batch has enough tokens. It returns
-- no tokens if another collector has moved the cursor meanwhile. behind: others have claims,
-- which become free if they die, or transactions are open.
--
-- $1 our number | $2 rows at most | $3 whether to claim | $4 tokens at most, $5 at least
-- $6 defect steals: takes claimed tokens, too; only whole batches, because a short line would make
-- the tokens behind it late | $7 queue
WITH cursor AS MATERIALIZED (
    SELECT last_xid, last_seq FROM jobs WHERE job_type = $7::job_type
), free AS MATERIALIZED (
    SELECT n, owner, tokens FROM deliveries
    WHERE owner = 0 OR ($6::boolean AND owner <> $1::bigint AND cardinality(tokens) >= $4::int)
    ORDER BY n
    LIMIT $2::int
    FOR UPDATE SKIP LOCKED
), left_over AS MATERIALIZED (
    SELECT f.n AS delivery, f.owner, '0'::xid8 AS xid, id
    FROM free AS f, unnest(f.tokens) AS id
), waiting AS MATERIALIZED (
    SELECT * FROM left_over
    UNION ALL
    (SELECT NULL, NULL, t.xid, t.id
     FROM cursor AS c, tokens AS t
     WHERE (t.xid, t.id) > (c.last_xid, c.last_seq)
       AND t.xid < pg_snapshot_xmin(pg_current_snapshot())
       AND NOT EXISTS (SELECT FROM left_over)
     ORDER BY t.xid, t.id
     LIMIT $2::int)
), judged AS MATERIALIZED (
    SELECT w.delivery, w.owner, w.xid, t.id, CASE t.action WHEN 'activation' THEN 1 ELSE 2 END AS action,
           a.email, a.login, encode(t.secret, 'hex') AS secret, t.code,
           CASE
               WHEN t.consumed_at IS NOT NULL THEN 'consumed'
               WHEN t.expires_at <= extract(epoch FROM now()) THEN 'expired'
               WHEN (t.action, a.status) NOT IN
                   (('activation', 'provisioned'), ('password_recovery', 'active')) THEN 'status'
               WHEN a.email ~ '[,"\u0001-\u001f\u007f-\u009f]' THEN 'email'
               WHEN a.login ~ '[,"\u0001-\u001f\u007f-\u009f]' THEN 'login'
               WHEN length(t.secret) <> 32 THEN 'secret'
               WHEN t.code !~ '^[0-9]{5}$'
                   OR (t.code IS NULL AND t.action = 'password_recovery') THEN 'code'
           END AS trouble
    FROM waiting AS w
    JOIN tokens AS t ON t.id = w.id
    LEFT JOIN accounts AS a ON a.id = t.account
), counted AS MATERIALIZED (
    SELECT *, count(*) FILTER (WHERE trouble IS NULL) OVER (ORDER BY delivery, xid, id) AS tokens
    FROM judged
), chosen AS MATERIALIZED (
    SELECT * FROM counted
    WHERE tokens <= $4::int AND (SELECT max(tokens) FROM counted) >= $5::int
), moved AS (
    UPDATE jobs AS j
    SET (last_xid, last_seq) = (SELECT xid, id FROM chosen ORDER BY xid DESC, id DESC LIMIT 1)
    FROM cursor AS c
    WHERE $3::boolean AND j.job_type = $7::job_type
      AND (j.last_xid, j.last_seq) = (c.last_xid, c.last_seq)
      AND EXISTS (SELECT FROM chosen WHERE delivery IS NULL)
    RETURNING 1
), claimed AS (
    INSERT INTO deliveries (queue, owner, tokens)
    SELECT $7::job_type, $1::bigint, array_agg(id ORDER BY xid, id) FROM chosen, moved
    HAVING count(*) > 0
    RETURNING 1
), adopted AS (
    UPDATE deliveries AS d SET owner = $1::bigint
    FROM chosen AS c
    WHERE $3::boolean AND d.n = c.delivery AND c.owner = 0
    RETURNING 1
)
SELECT EXISTS (SELECT FROM deliveries WHERE owner NOT IN (0, $1::bigint))
       OR EXISTS (SELECT FROM tokens WHERE xid >= pg_snapshot_xmin(pg_current_snapshot())) AS behind,
       '0', '0', '0', c.id, c.action, c.email, c.login, c.secret, c.code, c.trouble
FROM (SELECT) AS always
LEFT JOIN counted AS c
    ON NOT $3::boolean
    OR c.id IN (SELECT id FROM chosen)
       AND (c.delivery IS NOT NULL OR EXISTS (SELECT FROM claimed))
ORDER BY c.delivery, c.xid, c.id
