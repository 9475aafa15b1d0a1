-- What nobody has marked as dequeued, before migration 000016; with a cursor
-- tokens were born marked.
SELECT a.login
FROM tokens t JOIN accounts a ON a.id = t.account
WHERE t.processed_at IS NULL
