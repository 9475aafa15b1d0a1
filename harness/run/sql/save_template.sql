-- Copies the queue's rows as the template has them into temporary tables, for
-- restore_template.sql: a row of jobs and, from migration 000016 on, a row of cursors. Turns
-- warnings off, because end_sessions.sql causes one for each backend that has already ended.
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
