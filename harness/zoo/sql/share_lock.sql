-- Takes two locks. One shows that the mode is in use, so that nobody changes
-- it. The other shows the other claimers that the one with our number lives.
SELECT pg_try_advisory_lock_shared(hashtextextended('mailroom-collector ' || $1, 0))
   AND pg_try_advisory_lock($2::bigint)
