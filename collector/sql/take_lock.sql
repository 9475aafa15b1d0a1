-- Locks the cursor, in a statement before the one that reads tokens: a
-- statement that had to wait for the cursor would see the tokens as they were
-- before its wait.
--
-- $1 queue
SELECT n
FROM cursors
WHERE queue = $1::job_type AND lane = 1
ORDER BY n DESC
LIMIT 1
FOR UPDATE
