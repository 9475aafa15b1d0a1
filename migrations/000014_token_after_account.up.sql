-- Mends: an account that `ON CONFLICT DO NOTHING` left out had its token
-- already. A BEFORE trigger runs before PostgreSQL looks for a conflict, so the
-- token stayed without an account, and the commit failed on its foreign key.
--
-- An AFTER trigger runs only for a row that was inserted.

BEGIN;

DROP TRIGGER account_provision ON accounts;
CREATE TRIGGER account_provision AFTER INSERT ON accounts
    FOR EACH ROW WHEN (NEW.status = 'provisioned')
    EXECUTE FUNCTION account_provision();

COMMIT;
