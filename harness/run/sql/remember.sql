-- The queue as the template has it, for renew.sql: a row of jobs and, from
-- migration 000016 on, one of cursors. A backend that is already gone when it
-- is to be ended is not worth a warning.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['jobs', 'cursors'] LOOP
        IF to_regclass(name) IS NOT NULL THEN
            EXECUTE format('CREATE TEMPORARY TABLE %I AS TABLE %I', name || '_of_template', name);
        END IF;
    END LOOP;
    SET client_min_messages = error;
END
$$
