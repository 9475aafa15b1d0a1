-- Mends: the trigger functions looked their tables up by the search path of the
-- session that inserted. A session with another path got an error, or wrote
-- into a table of the same name in another schema.
--
-- Each function now looks in the schema that the migrations were applied to.

BEGIN;

DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['account_provision', 'account_change_status',
        'account_check_sendable', 'token_consumed', 'token_inserted']
    LOOP
        EXECUTE format('ALTER FUNCTION %I() SET search_path = pg_catalog, %I, pg_temp',
            name, current_schema());
    END LOOP;
END
$$;

COMMIT;
