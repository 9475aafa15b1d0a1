BEGIN;

DROP TRIGGER account_check_sendable ON accounts;
DROP FUNCTION account_check_sendable();

COMMIT;
