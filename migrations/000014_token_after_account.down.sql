BEGIN;

DROP TRIGGER account_provision ON accounts;
CREATE TRIGGER account_provision BEFORE INSERT ON accounts
    FOR EACH ROW WHEN (NEW.status = 'provisioned')
    EXECUTE FUNCTION account_provision();

COMMIT;
