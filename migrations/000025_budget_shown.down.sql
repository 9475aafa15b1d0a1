BEGIN;

REVOKE SELECT ON budgets FROM mailroom_collector;

COMMIT;
