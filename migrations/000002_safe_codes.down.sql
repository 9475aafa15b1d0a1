BEGIN;

ALTER TABLE tokens ALTER COLUMN code SET DEFAULT
    lpad(to_char(random() * 100000, 'FM00000'), 5, '0');

COMMIT;
