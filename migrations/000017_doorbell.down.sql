BEGIN;

ALTER TABLE tokens ENABLE TRIGGER token_inserted;
DROP TRIGGER token_rings ON tokens;
DROP FUNCTION token_rings();
DROP FUNCTION mailroom_announce(text);
DROP FUNCTION mailroom_bell();

COMMIT;
