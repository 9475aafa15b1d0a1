-- Tells those who would leave the mode that it is in use, and the others that
-- whoever claims with our number lives. $1 queue | $2 our number
SELECT pg_try_advisory_lock_shared(hashtextextended('mailroom-collector ' || $1, 0))
   AND pg_try_advisory_lock($2::bigint)
