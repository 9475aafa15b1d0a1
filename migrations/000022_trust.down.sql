BEGIN;

DROP TRIGGER token_numbered ON tokens;
DROP FUNCTION token_numbered();

COMMIT;
