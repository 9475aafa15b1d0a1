-- The ended attempts of each token in leased mode; the ends are those of enum attempt_end.
SELECT a.login, t.code, x.number,
       array_position('{sent,transient,dead,expired,returned,lost,late,retried}'::text[], x.outcome) - 1
FROM attempts x
JOIN tokens t ON t.id = x.token
JOIN accounts a ON a.id = t.account
