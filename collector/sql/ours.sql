-- The tokens of our deliveries, in the order in which they became ours. Their xid is the n of the
-- delivery. Tokens that were deleted since have nothing but an id, and are passed over.
--
-- $1 queue | $3 rows to examine at most | $4 our number
-- $5, $6 n and id to begin behind. Deliveries before n are not looked at, so that deleted rows that
-- an old snapshot keeps are not walked again and again.
, ours AS (
    SELECT 0 AS part, '0'::xid8 AS to_xid, taken.n::text::xid8 AS xid, taken.id,
           t.action, t.account, t.secret, t.code, t.consumed_at, t.expires_at
    FROM (SELECT d.n, token.id
          FROM (SELECT n, CASE n WHEN $5::bigint
                          THEN tokens[coalesce(array_position(tokens, $6::bigint), 0) + 1:]
                          ELSE tokens
                          END AS tokens
                FROM deliveries
                WHERE queue = $1::job_type AND owner = $4::bigint AND n >= $5::bigint
                ORDER BY n) AS d
          CROSS JOIN LATERAL unnest(d.tokens) AS token (id)
          LIMIT $3::int) AS taken
    LEFT JOIN tokens AS t ON t.id = taken.id
)
