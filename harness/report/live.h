// `run --metrics ADDR`: the figures of the run that is going on, and those of the scenarios that
// were judged before it, as OpenMetrics.
//
// A thread of its own serves them, because the main thread waits while a server starts or a fault
// is carried out. It knows only what the main thread has told it.
#pragma once

#include "check/check.h"
#include "report/progress.h"

struct live;

// Listens at the address; see base/scrape.h for its forms. NULL: ERR_USAGE names what is wrong.
struct live *live_start(const char *address, struct err *e);
void live_stop(struct live *l); // accepts NULL

// Both copy what they are given, and accept NULL for `l`.
void live_show(struct live *l, const struct progress *p);
void live_judged(struct live *l, const struct scenario *s, const struct result *result);
