-- The order in which a take reads the lanes: the first one first. In an aged turn a lower lane
-- comes before it, if the oldest of the tokens that the take would have of that lane has waited for the
-- ageing bound. A lane of which none of the tokens looked at can be sent comes first, too, because
-- one that has aged may stand behind them. Times of tokens are whole seconds, rounded to the
-- nearest. When another collector has claimed the queue, there is no lane. lanes.sql follows.
--
-- $2 tokens to take at most | $3 rows to examine at most | $8 our epoch
-- $9 whether this is an aged turn | $10 ageing bound in seconds
, ranked AS MATERIALIZED (
    SELECT c.lane, c.actions,
           CASE WHEN $9::bool AND c.lane > 1 AND
                     (SELECT coalesce(min(w.created_at), 0) + 0.5 + $10::int
                      FROM (SELECT l.created_at
                            FROM (SELECT t.created_at, t.consumed_at, t.expires_at
                                  FROM stretch AS s
                                  CROSS JOIN LATERAL unnest(c.actions) AS a (action)
                                  CROSS JOIN LATERAL (
                                      SELECT created_at, consumed_at, expires_at
                                      FROM tokens
                                      WHERE action = a.action
                                        AND (xid, id) > (s.from_xid, s.from_id)
                                        AND xid < s.to_xid
                                      ORDER BY xid, id) AS t
                                  WHERE (s.part + 1) / 2 = c.lane
                                  LIMIT $3::int) AS l
                            WHERE l.consumed_at IS NULL AND l.expires_at > extract(epoch FROM now())
                            LIMIT $2::int) AS w) <= extract(epoch FROM clock_timestamp())
                THEN 0
                ELSE c.lane
           END AS rank
    FROM cursor AS c
    WHERE (SELECT n FROM head) = $8::bigint
)
