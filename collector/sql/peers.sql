-- Claims a queue or joins the collectors that share it, keeps our lease, lists the others and frees
-- what dead collectors have in hand.
--
-- $1 queue | $2 our number | $3 the mode | $4 our name | $5 the epoch; null: we want to join
-- $6 whether to renew our lease | $7 whether to make a new cursor where one is needed
-- $8, $9, $10 collectors that are gone or hang, their counters, whether they hang
-- $11 why we leave, or null | $12, $13, $14 host, version, settings | $15 tokens that we answered
-- $16 the holder that has had its grace | $17 the epoch whose lease is over
SELECT * FROM mailroom_peers($1, $2::bigint, $3, $4, $5::bigint, $6::bool, settle => $7::bool,
    gone => $8::bigint[], counters => $9::bigint[], hangs => $10::bool[], leave => $11, host => $12,
    version => $13, settings => $14, written => $15::bigint, "over" => $16, hung => $17::bigint)
