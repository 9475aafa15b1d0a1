-- Takes the bell: from now on producers announce each token.
SELECT pg_try_advisory_lock($1::bigint)
