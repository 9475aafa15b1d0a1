-- What takes time in 000016, beside everybody else. README.md says when to run it.

\ir online.psql

SELECT pg_temp.has('tokens', 'processed_at') AS due \gset
\if :due
-- One that was interrupted leaves an invalid index.
DROP INDEX CONCURRENTLY IF EXISTS tokens_action_xid_id_idx;
CREATE INDEX CONCURRENTLY tokens_action_xid_id_idx ON tokens (action, xid, id);
\endif
