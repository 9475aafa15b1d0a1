-- Inserts a row of the harness for each job of a subject's queue, in the job's transaction.
INSERT INTO mailproof_sent (id, login) VALUES ($1::int, $2)
