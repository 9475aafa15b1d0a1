// One connection of the generator: a small state machine over non-blocking libpq in pipeline mode.
// load.c decides when the connection does what; this module does it and records the outcome.
#pragma once

#include "load/load.h"

enum conn_state {
    CONN_DOWN,       // no connection; the next one is opened at until_ns
    CONN_CONNECTING, // the handshake is not over yet
    CONN_PREPARING,  // the statements to prepare were sent
    CONN_IDLE,
    CONN_COPYING, // sends its accounts by COPY; the rest of the transaction follows
    CONN_RUNNING, // its statements and a Sync were sent; waits for the Sync's answer
    CONN_HOLDING, // its transaction stays open until until_ns
};

struct conn {
    PGconn *pg;
    enum conn_state state;
    int64_t until_ns; // DOWN: next try; CONNECTING: give up; HOLDING: end the transaction
    PostgresPollingStatusType polling;
    bool is_change; // it last sent a half of a change, and not a transaction
    size_t index;   // index of what it sent among the plan's transactions or changes
    bool end_sent;  // COMMIT or ROLLBACK was sent
    bool failed;    // the server refused one of its statements
    bool warned;    // an answer came with a warning
    bool demoted;   // the server takes no writes: it is not the leader any more
};

// The state of load_run, which load.c, conn.c and change.c share.
struct load {
    const struct load_config *config;
    struct load_progress *progress;
    struct load_result *result;
    struct conn *conns;
    size_t conn_count;
    const struct conn *prober; // while the server refuses connections, this one tries most often;
                               // NULL: the server does not refuse
    int64_t *phase_end_ns;     // per phase, on the run's clock
    size_t next;               // index of the first transaction that is not begun yet
    size_t ended;              // number of transactions that have an outcome
    uint32_t *insert_of;       // per planned change: index of the transaction that inserts its
                               // token; NULL: there are no changes
    size_t next_change;        // index of the first change that was neither begun nor given up
    size_t changes_ended;
    // Indexes of the changes (CHANGE_REACTIVATE) whose first half was answered and whose second
    // half is still to be sent.
    size_t *reactivations;
    size_t reactivation_count;
    struct buf scratch;
};

// Begins to open a connection that is DOWN.
void conn_open(struct load *l, struct conn *c, int64_t now);

// Sends a transaction on an IDLE connection.
void conn_begin(struct load *l, struct conn *c, size_t txn, int64_t now);

// Sends the next half of a change on an IDLE connection.
void conn_begin_change(struct load *l, struct conn *c, size_t change, int64_t now);

// Sends the end of the transaction of a HOLDING connection.
void conn_end_hold(struct load *l, struct conn *c, int64_t now);

// Handles the events that poll(2) reported; `now` is when it returned.
void conn_serve(struct load *l, struct conn *c, short revents, int64_t now);

// Returns the events that poll(2) is to wait for on an open connection.
short conn_events(const struct conn *c);

// Closes the connection. A transaction on it ends as unknown when its COMMIT was sent, otherwise as
// rolled back.
void conn_close(struct load *l, struct conn *c, int64_t now);
