// `run --metrics ADDR`: serves the figures of the present run, and those of the scenarios that were
// judged before it, as OpenMetrics.
//
// A thread of its own serves them, because the main thread waits while a server starts or a fault
// is carried out. The thread knows only what the main thread has told it.
#pragma once

#include "check/check.h"
#include "report/progress.h"

struct live;

// Listens at the address; see base/scrape.h for its forms. NULL with ERR_USAGE, which names the
// mistake.
struct live *live_start(const char *address, struct err *e);
void live_stop(struct live *l); // accepts NULL

// Both functions copy their arguments, and accept NULL for `l`.
void live_show(struct live *l, const struct progress *p);
void live_judged(struct live *l, const struct scenario *s, const struct result *result);
