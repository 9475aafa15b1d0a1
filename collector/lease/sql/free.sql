-- Frees the lines of another collector, and forgets it. One that still has its lock may just have no
-- line to renew its lease for. It renews before it leases the next one, so with a counter that we
-- have seen all the time, and with a line, it hangs. Returns no row when nothing is to be freed.
--
-- $1 queue | $2 its number | $3 why | $4 whether it has lost its lock | $5 the counter of its lease
SELECT mailroom_free($1, $2::bigint, $3), $2, $3
FROM owners AS o
WHERE o.queue::text = $1 AND o.owner = $2::bigint
  AND ($4::bool OR o.renewed = $5::bigint AND EXISTS (
          SELECT FROM deliveries AS d WHERE d.queue = o.queue AND d.owner = o.owner))
