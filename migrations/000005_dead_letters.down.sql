BEGIN;

DROP TABLE dead_letters;

COMMIT;
