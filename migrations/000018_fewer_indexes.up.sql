-- Mends: two indexes cost every insert and served no query.
--
-- tokens (id, expires_at, consumed_at, action) was meant for the collector as first
-- published, which reads tokens with id > last_seq in their order, and joins their
-- accounts by id. The primary keys serve both, with the same rows visited; the
-- present collector reads by (action, xid, id). Each update of a status, an expiry
-- or a consumption changes one of these indexes, so none of them could be heap-only.

BEGIN;

DROP INDEX tokens_eligible_idx;
DROP INDEX accounts_id_status_idx;

COMMIT;
