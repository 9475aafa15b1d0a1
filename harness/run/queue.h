// The database of a subject: a queue that is judged in place of a collector.
#pragma once

#include "run/run.h"

// How many jobs the manifest's end state shows; NAN: it shows none.
double queue_left(struct run *r);

// Reads the manifest into r->manifest. ERR_SKIP where it is not installed, or the
// scenario breaks what a queue has not got, such as the table jobs.
MUST_USE bool queue_load(struct run *r, struct err *e);

// After the database and its roles were made: the facade, and the queue's own schema.
MUST_USE bool queue_prepare(struct run *r, struct err *e);
