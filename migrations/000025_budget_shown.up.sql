-- Mends: a collector spends the budget but could not say how much of it is
-- left, so nobody could see in time that mail will wait for the budget.

BEGIN;

GRANT SELECT ON budgets TO mailroom_collector;

COMMIT;
