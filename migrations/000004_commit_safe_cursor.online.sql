-- Does the slow part of 000004 while others work. README.md says when to run it.
--
-- Until 000004 the default of xid stays 0. So all rows up to then have it, as if the
-- column had come with 000004.

\ir online.psql

SELECT NOT pg_temp.has('jobs', 'last_xid') AS due \gset
\if :due
SELECT pg_temp.briefly('ALTER TABLE tokens ADD COLUMN IF NOT EXISTS xid xid8 NOT NULL DEFAULT ''0''');
-- An earlier call that was interrupted left an invalid index.
DROP INDEX CONCURRENTLY IF EXISTS tokens_xid_id_idx;
CREATE INDEX CONCURRENTLY tokens_xid_id_idx ON tokens (xid, id);
\endif
