-- Claims the next tokens that are nobody's, if there are enough of them, and
-- passes what it examines on the way and does not get its turn.
--
-- $1 our number | $2 tokens wanted | $3 rows to examine at most | $4 fewest to claim
--
-- Rows are locked one by one as they are asked for, and whoever else is claiming
-- passes them. With fewer than $4 tokens these stay nobody's, and what is passed
-- makes room for the next look. The answer has the form of skip_read.sql's.
WITH walk AS MATERIALIZED (
    SELECT t.id, t.account, t.action, t.secret, t.code, a.email, a.login, why.passed,
           count(*) OVER so_far AS examined,
           count(*) FILTER (WHERE why.passed = 'expired') OVER so_far AS expired,
           count(*) FILTER (WHERE why.passed = 'consumed') OVER so_far AS consumed
    FROM (SELECT *
          FROM tokens
          WHERE processed_at IS NULL AND claimed_by IS NULL
          ORDER BY claimed_by, id
          LIMIT $3::int
          FOR UPDATE SKIP LOCKED) AS t
    LEFT JOIN accounts AS a ON a.id = t.account
    CROSS JOIN LATERAL (
        SELECT CASE
            WHEN t.consumed_at IS NOT NULL THEN 'consumed'
            WHEN t.expires_at <= extract(epoch FROM now()) THEN 'expired'
            WHEN t.action = 'activation' AND a.status = 'provisioned' THEN NULL
            WHEN t.action = 'password_recovery' AND a.status = 'active' THEN NULL
            ELSE 'status'
        END AS passed
        OFFSET 0) AS why
    WINDOW so_far AS (ROWS UNBOUNDED PRECEDING)
), taken AS MATERIALIZED (
    SELECT * FROM walk WHERE passed IS NULL LIMIT $2::int
), bound AS MATERIALIZED (
    SELECT count(*) >= $4::int AS enough,
           CASE WHEN count(*) = $2::int THEN max(examined) ELSE $3::int END AS examined
    FROM taken
), turn AS MATERIALIZED (
    SELECT *
    FROM (SELECT * FROM walk LIMIT (SELECT examined FROM bound)) AS examined
    WHERE passed IS NOT NULL OR (SELECT enough FROM bound)
), marked AS (
    UPDATE tokens AS t
    SET claimed_by = CASE WHEN turn.passed IS NULL THEN $1::bigint END,
        processed_at = CASE WHEN turn.passed IS NOT NULL THEN extract(epoch FROM now()) END
    FROM turn
    WHERE t.id = turn.id
)
(SELECT 1 AS kind, '0'::xid8 AS xid, id, account,
        CASE action WHEN 'activation' THEN 1 ELSE 2 END AS action,
        email, login, secret, code, examined, expired, consumed, false AS others
 FROM turn
 WHERE passed IS NULL)
UNION ALL
(SELECT 0, '0'::xid8, max(id), NULL, NULL, NULL, NULL, NULL, NULL, count(*),
        count(*) FILTER (WHERE passed = 'expired'), count(*) FILTER (WHERE passed = 'consumed'), false
 FROM turn)
LIMIT $2::int
