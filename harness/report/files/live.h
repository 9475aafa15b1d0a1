// Serves the figures of the present run, and those of the scenarios that were judged before it, as
// OpenMetrics (`run --metrics ADDR`).
//
// A thread of its own serves them, because the main thread waits while a server starts or a fault
// is carried out. The thread knows only what the main thread reports to it.
#pragma once

#include "check/check.h"
#include "report/progress.h"

struct live;

// Starts the thread, which listens at the address; see base/scrape.h for the forms of an address.
// NULL on failure; ERR_USAGE names a mistake in the address.
struct live *live_start(const char *address, struct err *e);
void live_stop(struct live *l); // accepts NULL

// live_show tells how far the present run has come, live_judged how a run ended. Both copy their
// arguments, and accept NULL for `l`.
void live_show(struct live *l, const struct progress *p);
void live_judged(struct live *l, const struct scenario *s, const struct result *result);
