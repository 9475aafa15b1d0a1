-- Does the slow part of 000016 while others work. README.md says when to run it.

\ir online.psql

SELECT pg_temp.has('tokens', 'processed_at') AS due \gset
\if :due
-- An earlier call that was interrupted left an invalid index.
DROP INDEX CONCURRENTLY IF EXISTS tokens_action_xid_id_idx;
CREATE INDEX CONCURRENTLY tokens_action_xid_id_idx ON tokens (action, xid, id);
\endif
