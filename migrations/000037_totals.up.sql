-- Mends: mailroom_totals counted attempts as tokens, so a token that was tried three times was three;
-- what a collector had in hand when it died was called lost, although it is tried again.

BEGIN;

DROP VIEW mailroom_totals;
CREATE VIEW mailroom_totals AS
SELECT 'scheduled' AS state, count(*) AS tokens, 0::bigint AS attempts, to_timestamp(min(t.created_at)) AS oldest
FROM jobs AS j, mailroom_untaken(j.job_type::text) AS u JOIN tokens AS t ON t.id = u.token
UNION ALL
SELECT CASE WHEN d.owner = 0 THEN 'retry' ELSE 'leased' END, count(*), sum(coalesce(d.numbers[u.at], 1) - 1), min(d.leased_at)
FROM deliveries AS d, unnest(d.tokens) WITH ORDINALITY AS u (token, at)
GROUP BY 1
UNION ALL
SELECT CASE outcome WHEN 'lost' THEN 'abandoned' ELSE outcome END, count(DISTINCT token), count(*), min(ended)
FROM attempts
WHERE ended >= date_trunc('day', clock_timestamp() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'
GROUP BY 1;

COMMIT;
