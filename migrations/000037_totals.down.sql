BEGIN;

DROP VIEW mailroom_totals;
CREATE VIEW mailroom_totals AS
SELECT 'scheduled' AS state, count(*) AS tokens, to_timestamp(min(t.created_at)) AS oldest
FROM jobs AS j, mailroom_untaken(j.job_type::text) AS u JOIN tokens AS t ON t.id = u.token
UNION ALL
SELECT CASE WHEN owner = 0 THEN 'retry' ELSE 'leased' END, sum(cardinality(tokens)), min(leased_at)
FROM deliveries GROUP BY 1
UNION ALL
SELECT outcome, count(*), min(ended) FROM attempts
WHERE ended >= date_trunc('day', clock_timestamp() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'
GROUP BY 1;

COMMIT;
