// What the server shows of the collector's sessions, once a second: how many there are, what they
// have cost, and which transaction was open in two looks a second apart. A look costs no query of
// its own. A server whose rights hide the state of the sessions shows nothing.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct presence_look {
    int64_t at_ns;
    uint32_t sessions; // sessions of the collector's role
    uint64_t cpu_ms;   // CPU time of these sessions' backends so far
};

// A transaction, or a prepared one, that stayed open though nothing in the server held it up.
struct presence_hold {
    int64_t from_ns, until_ns; // the first and the last look at it
    uint32_t pid;              // 0: it was prepared
};

#define PRESENCE_OPEN_MAX 64
#define PRESENCE_HOLDS_MAX 256 // only the first are kept

struct presence {
    struct presence_look *looks; // owned; in the order of time
    size_t look_count;
    struct presence_hold *holds; // owned
    size_t hold_count;
    // The transactions that the last look saw.
    struct presence_open {
        char key[96]; // names the transaction as long as the server runs
        int64_t first_ns;
        size_t hold; // 1 + its number in `holds`; 0: none yet
        bool seen;   // in the look that is being taken
    } open[PRESENCE_OPEN_MAX];
    size_t open_count;
};

void presence_fini(struct presence *p); // accepts a zeroed struct

// Takes a session with an open transaction into the look at at_ns. With `held_up` it waits for
// something in the server, such as a lock, and its time begins anew.
void presence_transaction(
    struct presence *p, const char *key, uint32_t pid, bool held_up, int64_t at_ns);

// Ends a look. NULL: the server showed nothing, and what was open before is forgotten.
void presence_looked(struct presence *p, const struct presence_look *look);
