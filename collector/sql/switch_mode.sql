-- Changes the mode of the queue. Returns how many tokens wait, or null if it has that mode already.
SELECT mailroom_switch_mode($1, $2)
