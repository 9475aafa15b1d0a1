-- Takes two locks. One shows that the mode is in use, so that nobody changes
-- it. The other shows the other collectors that the owner of our claims is alive.
SELECT pg_try_advisory_lock_shared(hashtextextended('mailroom-collector ' || $1, 0))
   AND pg_try_advisory_lock($2::bigint)
