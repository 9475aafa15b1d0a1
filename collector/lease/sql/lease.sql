-- Leases the tokens of the next line.
--
-- $1 queue | $2 our number | $3 tokens wanted | $4 the fewest that make a line
-- $5 milliseconds in which something may have come due; null: look at all
-- $6 budget a second | $7 burst | $8 tokens a day
-- $9 whether a lower lane goes first, if its oldest token has waited for $10 seconds
SELECT * FROM mailroom_lease($1, $2::bigint, $3::int, $4::int,
    coalesce(clock_timestamp() - $5::bigint * interval '1 ms', '-infinity'),
    $6::float8, $7::float8, $8::bigint, $9::bool, $10::int)
