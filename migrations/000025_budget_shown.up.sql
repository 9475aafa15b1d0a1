-- Mends: a collector spends the budget and could not say how much of it is left, so
-- nobody saw that mail waits for the budget before it had waited.

BEGIN;

GRANT SELECT ON budgets TO mailroom_collector;

COMMIT;
