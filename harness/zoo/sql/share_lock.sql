-- Shows two things: that the mode is in use, to whoever would leave it; and that the claimer with
-- our number lives, to the others. $1 queue | $2 our number
SELECT pg_try_advisory_lock_shared(hashtextextended('mailroom-collector ' || $1, 0))
   AND pg_try_advisory_lock($2::bigint)
