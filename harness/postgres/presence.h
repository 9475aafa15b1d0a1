// Keeps what the server shows of the collector's sessions once a second: how many there are, how
// much CPU time they have used, and which transactions stayed open from one look to the next. The
// sampler sends the query. If our rights do not show the state of the sessions, there are no looks.
#pragma once

#include "base/base.h"

struct presence_look {
    int64_t at_ns;
    uint32_t sessions; // sessions of the collector's role
    uint64_t cpu_ms;   // CPU time so far of the collector's backends, those that have ended among
                       // them; 0 where it is not visible
};

// A transaction, prepared or not, that stayed open though nothing in the server held it up.
struct presence_hold {
    int64_t from_ns;  // time of the first look that saw it open, or of the last that saw it held up
    int64_t until_ns; // time of the last look that saw it open
    uint32_t pid;     // pid of the transaction's backend; 0: it is a prepared transaction
};

#define PRESENCE_OPEN_MAX 64
#define PRESENCE_HOLDS_MAX 256 // only the first are kept

struct presence {
    struct presence_look *looks; // owned; in the order of time
    size_t look_count;
    struct presence_hold *holds; // owned
    size_t hold_count;
    // The transactions that were open in the last look.
    struct presence_open {
        char key[96];     // names the transaction as long as the server runs
        int64_t first_ns; // time of the look that saw it first, or that last saw it held up
        size_t hold;      // 1 + the index of its entry in `holds`; 0: it has none yet
        bool seen;        // whether the look that is being taken has seen it
    } open[PRESENCE_OPEN_MAX];
    size_t open_count;
};

void presence_fini(struct presence *p); // accepts a zeroed struct

// Adds an open transaction that the look at at_ns has seen. held_up: the transaction waits for
// something in the server, such as a lock, so the time for which it counts as held open begins
// anew.
void presence_add_transaction(
    struct presence *p, const char *key, uint32_t pid, bool held_up, int64_t at_ns);

// Ends a look, that is one query for the sessions, and stores it. NULL: the server showed nothing,
// and all open transactions are forgotten.
void presence_end_look(struct presence *p, const struct presence_look *look);
