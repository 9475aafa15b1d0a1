-- What nobody has marked as dequeued; with a cursor tokens are born marked.
SELECT a.login
FROM tokens t JOIN accounts a ON a.id = t.account
WHERE t.processed_at IS NULL
