-- Carries the queue over to another way of dequeuing.
SELECT mailroom_switch_mode($1, $2)
