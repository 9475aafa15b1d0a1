// Defects once-per-address and keeps-addresses: what was first seen under a text stays.
#pragma once

#include "base/err.h"
#include "session.h"

#define ADDRESSES 65536 // entries; when three quarters are taken, no more are kept

struct addresses {
    struct address {
        char *key, *value; // owned
    } * table;             // owned; NULL: nothing was seen yet
    size_t count;
    char last_id[24]; // of the last account that was read
};

void addresses_fini(struct addresses *a);

// Returns the value that was first given for the key: `value`, if this is the first time.
const char *addresses_first(struct addresses *a, const char *key, const char *value);

// Reads the accounts that were not read yet, and keeps the address of each under its login.
bool addresses_read(struct addresses *a, struct session *s, struct err *e) MUST_USE;

// Finds the first value of a key; `other` when there is none.
const char *addresses_find(const struct addresses *a, const char *key, const char *other);
