-- Takes the bell: who inserts a token from now on announces it.
SELECT pg_try_advisory_lock($1::bigint)
