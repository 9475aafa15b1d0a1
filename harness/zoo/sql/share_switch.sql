-- Carries the queue over to sharing, unless somebody has done so. Nothing else
-- in this statement: it locks the tables, and whoever holds jobs already while
-- it waits for them waits for ever. $1 queue
SELECT mailroom_switch_mode($1, 'skip-locked')
