BEGIN;

DROP FUNCTION mailroom_restamp(text);
DROP FUNCTION mailroom_cluster();
ALTER TABLE jobs DROP COLUMN cluster;

COMMIT;
