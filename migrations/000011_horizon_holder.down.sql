BEGIN;

DROP FUNCTION mailroom_horizon_holder();

COMMIT;
