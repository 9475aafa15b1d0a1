-- Beside each job of a subject's queue, in its transaction.
INSERT INTO mailproof_sent (id, login) VALUES ($1::int, $2)
