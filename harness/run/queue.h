// The database of a subject: a queue that is judged in place of a collector.
#pragma once

#include "run/run.h"

// Few clients of queues understand a conninfo with two hosts. Where a standby takes over, they find
// the primary at one address, the proxy's.
bool queue_needs_one_address(const struct scenario *s);

// Returns how many jobs the manifest's end state still shows; NAN: the manifest has none.
double queue_left(struct run *r);

// True when the end state shows no job, or when there is none. Without an answer it is not done.
bool queue_is_done(struct run *r);

// Reads the manifest into r->manifest. ERR_SKIP when the subject is not installed, or when the
// scenario breaks something that a queue does not have, such as the table jobs.
MUST_USE bool queue_load(struct run *r, struct err *e);

// Readies the process that puts the jobs, of a subject whose own client does. Before the load.
MUST_USE bool queue_producer(struct run *r, struct err *e);
void queue_close(struct run *r); // accepts any stage

// Makes the facade and the queue's own schema, after the database and its roles.
MUST_USE bool queue_prepare(struct run *r, struct err *e);
