-- Changes the mode of the queue.
SELECT mailroom_switch_mode($1, $2)
