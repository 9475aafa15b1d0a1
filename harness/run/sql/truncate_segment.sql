-- Removes the rows of a segment that is over. The tables are locked in the order in which a
-- collector reads them, so that there is no deadlock.
SET lock_timeout = '10s';
TRUNCATE tokens, accounts;
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['dead_letters', 'attempts'] LOOP
        IF to_regclass(name) IS NOT NULL THEN
            EXECUTE 'TRUNCATE ' || name;
        END IF;
    END LOOP;
END $$;
RESET lock_timeout;
