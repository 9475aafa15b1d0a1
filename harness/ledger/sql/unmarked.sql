-- Tokens that are not marked as dequeued, before migration 000016. In cursor mode, tokens were
-- inserted with the mark.
SELECT a.login, t.code
FROM tokens t JOIN accounts a ON a.id = t.account
WHERE t.processed_at IS NULL
