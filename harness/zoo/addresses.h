// For the defects once-per-address and keeps-addresses: a table that keeps the first value that was
// given for each key.
#pragma once

#include "base/base.h"
#include "session.h"

// Size of the table; when three quarters are taken, no further keys are kept.
#define ADDRESSES 65536

struct addresses {
    struct address {
        char *key, *value; // owned
    } * table;             // owned, a hash table; NULL: nothing was kept yet
    size_t count;
    char last_id[24]; // id of the last account that addresses_read has read; "": none yet
};

void addresses_fini(struct addresses *a);

// Keeps `value` for the key if the key has no value yet. Returns the key's value; `value` itself if
// there is no room for it.
const char *addresses_first(struct addresses *a, const char *key, const char *value);

// Reads the accounts that were not read yet, and keeps the address of each account under its login.
bool addresses_read(struct addresses *a, struct session *s, struct err *e) MUST_USE;

// Returns the value that is kept for a key; `other` when there is none.
const char *addresses_find(const struct addresses *a, const char *key, const char *other);
