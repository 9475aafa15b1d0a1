-- The columns of read.sql, for what waits and is nobody's. With $3 it is ours
-- afterwards: as much of it as makes a batch, if that has enough tokens.
-- behind: others have claims, which they may leave behind.
--
-- $1 our number | $2 rows at most | $3 whether to claim | $4 tokens at most, $5 at least
-- $6 defect steals: what others have claimed waits as well
WITH locked AS MATERIALIZED (
    SELECT id
    FROM tokens
    WHERE $3::boolean AND processed_at IS NULL AND (claimed_by IS NULL OR claimed_by = $1::bigint OR $6::boolean)
    ORDER BY id
    LIMIT $2::int
    FOR UPDATE SKIP LOCKED
), waiting AS MATERIALIZED (
    (SELECT id FROM locked)
    UNION ALL
    (SELECT id
     FROM tokens
     WHERE NOT $3::boolean AND processed_at IS NULL AND (claimed_by IS NULL OR claimed_by = $1::bigint OR $6::boolean)
     ORDER BY id
     LIMIT $2::int)
), judged AS MATERIALIZED (
    SELECT t.id, CASE t.action WHEN 'activation' THEN 1 ELSE 2 END AS action,
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
    FROM waiting
    JOIN tokens AS t ON t.id = waiting.id
    LEFT JOIN accounts AS a ON a.id = t.account
), counted AS MATERIALIZED (
    SELECT *, count(*) FILTER (WHERE trouble IS NULL) OVER (ORDER BY id) AS tokens FROM judged
), claimed AS (
    UPDATE tokens AS t
    SET claimed_by = $1::bigint
    FROM counted
    WHERE $3::boolean AND t.id = counted.id AND counted.tokens <= $4::int
      AND (SELECT max(tokens) FROM counted) >= $5::int
    RETURNING t.id
)
SELECT EXISTS (SELECT FROM tokens
               WHERE processed_at IS NULL AND claimed_by <> $1::bigint) AS behind,
       '0', '0', '0', c.id, c.action, c.email, c.login, c.secret, c.code, c.trouble
FROM (SELECT) AS always
LEFT JOIN counted AS c ON NOT $3::boolean OR c.id IN (SELECT id FROM claimed)
ORDER BY c.id
