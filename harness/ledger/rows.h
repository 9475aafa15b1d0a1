// The columns of a token and of its account that only the load and the schema's triggers change.
#pragma once

#include <stddef.h>

#include "plan/plan.h"

// What such columns held at the end of the run. sql/tokens.sql has the same numbers.
enum token_row {
    ROW_ACTIVE = 1 << 0,         // the account's status; with neither bit it is provisioned
    ROW_SUSPENDED = 1 << 1,      //
    ROW_CONSUMED = 1 << 2,       // consumed_at is set
    ROW_STATUS_CHANGED = 1 << 3, // status_changed_at is set
    ROW_ACTIVATED_AT = 1 << 4,   // activated_at is set
    ROW_SUSPENDED_AT = 1 << 5,   // suspended_at is set
    ROW_UNSUSPENDED_AT = 1 << 6, // unsuspended_at is set
    ROW_EXPIRED = 1 << 7,        // expires_at lies before created_at
    ROW_LIFETIME = 1 << 8,       // expires_at is not 15 minutes after created_at, either
    ROW_RECOVERY = 1 << 9,       // the action is password_recovery
    ROW_EMAIL = 1 << 10,         // the account's address is not the one that was inserted
    ROW_READ = 1 << 11,          // the bits are known
};

struct row_column {
    unsigned bits; // of enum token_row
    const char *name;
};

#define ROW_COLUMNS 9

extern const struct row_column row_columns[ROW_COLUMNS];

// Returns what the row of a token of this kind holds when nobody but the load touches it.
unsigned row_inserted(enum token_kind kind);
