BEGIN;

DROP TABLE jobs, tokens, accounts;
DROP FUNCTION account_provision(), account_change_status(), token_consumed(), token_inserted();
DROP TYPE job_type, token_action, account_status;

-- An extension that was here before, or that others use by now, stays.
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_extension WHERE extname = 'pgcrypto'
        AND obj_description(oid, 'pg_extension') LIKE '%created by mailroom 000001') THEN
        DROP EXTENSION pgcrypto;
    END IF;
EXCEPTION WHEN dependent_objects_still_exist THEN
    RAISE NOTICE 'the extension pgcrypto stays: other objects use it';
END
$$;

COMMIT;
