-- Producers ring no more from now on: we look by ourselves.
SELECT pg_advisory_unlock($1::bigint)
