-- Locks the cursor, in a statement of its own before the one that reads tokens.
-- If one statement did both and had to wait for the lock, it would see the
-- tokens as they were before its wait. The cursor of the first lane stands for those of all lanes.
--
-- $1 queue
SELECT n
FROM cursors
WHERE queue = $1::job_type AND lane = 1
ORDER BY n DESC
LIMIT 1
FOR UPDATE
