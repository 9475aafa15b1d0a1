-- Mends: a transaction that made a hundred tokens announced one. PostgreSQL
-- folds equal notifications (channel and payload) of a transaction together,
-- so a collector that counts announcements never saw a full batch.
--
-- The token's id as payload makes each notification different. It is no
-- secret; a collector need not read it.

BEGIN;

CREATE OR REPLACE FUNCTION token_inserted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('token_insert', NEW.id::text);
    RETURN NULL;
END
$$;

COMMIT;
