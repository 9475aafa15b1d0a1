// Names the columns of tokens and accounts that a collector must leave alone: only the load and the
// schema's triggers change them.
#pragma once

#include "plan/plan.h"

// What these columns held at the end of the run. sql/tokens.sql has the same numbers.
enum token_row {
    ROW_ACTIVE = 1 << 0,         // the account is active; with neither bit set it is provisioned
    ROW_SUSPENDED = 1 << 1,      // the account is suspended
    ROW_CONSUMED = 1 << 2,       // consumed_at is set
    ROW_STATUS_CHANGED = 1 << 3, // status_changed_at is set
    ROW_ACTIVATED_AT = 1 << 4,   // activated_at is set
    ROW_SUSPENDED_AT = 1 << 5,   // suspended_at is set
    ROW_UNSUSPENDED_AT = 1 << 6, // unsuspended_at is set
    ROW_EXPIRED = 1 << 7,        // expires_at lies before created_at
    ROW_LIFETIME = 1 << 8, // expires_at lies neither before created_at nor 15 minutes after it
    ROW_RECOVERY = 1 << 9, // the action is password_recovery
    ROW_EMAIL = 1 << 10,   // the account's address is neither the one that was inserted nor the one
                           // that the plan gave it later
    ROW_READ = 1 << 11,    // the other bits are known; an old history does not have them
};

struct row_column {
    unsigned bits; // of enum token_row
    const char *name;
};

#define ROW_COLUMNS 9

extern const struct row_column row_columns[ROW_COLUMNS];

// Returns the bits of enum token_row that a token of this kind has when nobody but the load touches
// its row.
unsigned row_inserted(enum token_kind kind);
