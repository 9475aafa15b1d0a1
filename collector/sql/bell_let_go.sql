-- Lets the bell go: producers are silent from now on, and we look by ourselves.
SELECT pg_advisory_unlock(nullif($1, '')::bigint)
