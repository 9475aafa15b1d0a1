BEGIN;

ALTER FUNCTION account_provision() RESET search_path;
ALTER FUNCTION account_change_status() RESET search_path;
ALTER FUNCTION account_check_sendable() RESET search_path;
ALTER FUNCTION token_consumed() RESET search_path;
ALTER FUNCTION token_inserted() RESET search_path;

COMMIT;
