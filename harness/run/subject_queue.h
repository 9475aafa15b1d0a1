// Prepares and asks the database of a subject: another queue that is judged in place of a
// collector.
#pragma once

#include "load/load.h"
#include "subject/command.h"
#include "subject/manifest.h"

struct run;

// The parts of a run that are about a queue. Zeroed when no queue is judged.
struct run_queue {
    struct manifest manifest;
    struct command producer_command; // command of the subject's own client
    struct load_producer producer;
};

// True when the clients of the queue must find the primary at one address, that of the proxy. This
// is so where a standby takes over, because few such clients understand a conninfo with two hosts.
bool queue_needs_one_address(const struct scenario *s);

// Returns the number of jobs that a query of the manifest counts, such as end_state; NAN: no queue
// is judged, or there is no such query, or no answer.
double queue_count(struct run *r, const char *query);

// True when the harness ends each handler with an answer: the scenario's collector.sender says how,
// and the manifest says that the consumer asks.
bool queue_is_answered(const struct run *r);

// True when the end_state query of the queue that is judged counts no job, or when there is no such
// query. False without an answer.
bool queue_is_done(struct run *r);

// If a queue is judged, reads its manifest. ERR_SKIP when the subject is not installed, or when the
// scenario needs something that this queue does not have, such as the tables of the mail schema.
MUST_USE bool queue_load(struct manifest *m, const struct scenario *s, struct err *e);

// If the subject's own client puts the jobs, prepares the process of that client. Call it before
// the load, and after run_start_collector, which starts the proxy.
MUST_USE bool queue_prepare_producer(struct run *r, struct err *e);
void queue_fini(struct run_queue *q); // accepts any stage

// If a queue is judged, makes the facade (sql/facade.sql) and the queue's own schema. Call it when
// the database and its roles exist.
MUST_USE bool queue_prepare(struct run *r, struct err *e);
