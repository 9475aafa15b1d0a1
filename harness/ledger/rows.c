#include "ledger/ledger.h"

const struct row_column row_columns[ROW_COLUMNS] = {
    {ROW_ACTIVE | ROW_SUSPENDED, "accounts.status"},
    {ROW_STATUS_CHANGED, "accounts.status_changed_at"},
    {ROW_ACTIVATED_AT, "accounts.activated_at"},
    {ROW_SUSPENDED_AT, "accounts.suspended_at"},
    {ROW_UNSUSPENDED_AT, "accounts.unsuspended_at"},
    {ROW_EMAIL, "accounts.email"},
    {ROW_CONSUMED, "tokens.consumed_at"},
    {ROW_EXPIRED | ROW_LIFETIME, "tokens.expires_at"},
    {ROW_RECOVERY, "tokens.action"},
};

unsigned row_inserted(enum token_kind kind)
{
    switch (kind) {
    case TOKEN_EXPIRED:
        return ROW_READ | ROW_EXPIRED;
    case TOKEN_CONSUMED: // a trigger activates the account
        return ROW_READ | ROW_ACTIVE | ROW_CONSUMED | ROW_STATUS_CHANGED | ROW_ACTIVATED_AT;
    case TOKEN_SUSPENDED:
        return ROW_READ | ROW_SUSPENDED | ROW_STATUS_CHANGED | ROW_SUSPENDED_AT;
    case TOKEN_ACTIVE:
        return ROW_READ | ROW_ACTIVE | ROW_ACTIVATED_AT;
    case TOKEN_PROVISIONED:
        return ROW_READ | ROW_RECOVERY;
    case TOKEN_RECOVERY:
    case TOKEN_WITHOUT_CODE:
        return ROW_READ | ROW_ACTIVE | ROW_ACTIVATED_AT | ROW_RECOVERY;
    default:
        return ROW_READ;
    }
}
