-- Takes the bell: from now on producers announce each token. Returns the number of this transaction,
-- or null when somebody else has the bell. A producer that was silent has a lower number, because
-- it had its number before the bell was taken. The xmax of a snapshot would not do: it follows the
-- last transaction that has ended, so one that still runs may have that number or a higher one.
SELECT CASE WHEN pg_try_advisory_lock($1::bigint) THEN pg_current_xact_id() END
