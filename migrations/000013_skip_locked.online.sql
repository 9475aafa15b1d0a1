-- Does the slow part of 000013 while others work. README.md says when to run it.

\ir online.psql

SELECT NOT pg_temp.has('jobs', 'mode') AS due \gset
\if :due
SELECT pg_temp.briefly('ALTER TABLE tokens ADD COLUMN IF NOT EXISTS processed_at bigint DEFAULT 0,
    ADD COLUMN IF NOT EXISTS claimed_by bigint');
-- An earlier call that was interrupted left an invalid index.
DROP INDEX CONCURRENTLY IF EXISTS tokens_waiting_idx;
CREATE INDEX CONCURRENTLY tokens_waiting_idx ON tokens (claimed_by, id) WHERE processed_at IS NULL;
\endif
