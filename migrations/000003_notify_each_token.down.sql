BEGIN;

CREATE OR REPLACE FUNCTION token_inserted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NOTIFY token_insert;
    RETURN NULL;
END
$$;

COMMIT;
