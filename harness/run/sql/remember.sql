-- Copies the queue's rows as the template has them, for renew.sql: a row of jobs and, from
-- migration 000016 on, a row of cursors. It turns warnings off, because throw_out.sql causes one
-- for each backend that has already ended by itself.
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
