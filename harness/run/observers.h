// The threads that observe a run: samples of the server and the machine, the wait for a processor,
// and two probes of the server.
#pragma once

#include <stdatomic.h>

#include "ledger/ledger.h"
#include "postgres/sampler.h"

struct observers {
    struct sampler *sampler;
    struct starved *starved; // measures how long processes wait for a processor
    struct probe *answers;   // measures how fast the server answers
    struct probe *flushes;   // measures how fast it commits
    atomic_int outer_pid;    // copy of server.outer_pid, which sampler and starved read
};

// Starts all observers. The server and the subject must outlive them.
MUST_USE bool observers_start(
    struct observers *o, const struct server *server, struct subject *subject, struct err *e);

// Starts only `starved`. observers_end_starved ends it and puts its samples into the ledger.
MUST_USE bool observers_start_starved(
    struct observers *o, const struct server *server, struct subject *subject, struct err *e);
void observers_end_starved(struct observers *o, struct ledger *l);

// Gives the observers the pid of the server, which changes with each start of the server.
void observers_note_pid(struct observers *o, const struct server *server);

// Each of these ends a part of the observers and puts its samples into the ledger, which borrows
// them. observers_end_samples ends those that look at the collector's processes, so call it before
// the collector ends.
void observers_end_samples(struct observers *o, struct ledger *l);
void observers_end_probes(struct observers *o, struct ledger *l);

// Both accept observers at any stage. observers_stop ends the probes and `starved`; observers_fini
// ends the sampler as well and frees everything. It would wait for ever for a query to a paused
// server, so call observers_fini when the server has ended or runs.
void observers_stop(struct observers *o);
void observers_fini(struct observers *o);
