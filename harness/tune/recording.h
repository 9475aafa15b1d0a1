// The data of a measured run that the model uses: when its tokens came, and how long its queries
// took. Pure.
#pragma once

#include "ledger/ledger.h"
#include "tune/queries.h"

struct recording {
    int64_t *arrivals_ns; // owned; when each delivered token was acknowledged, in order
    size_t count;
    int64_t length_ns; // length of the load
    struct queries queries;
};

// Records a run with one collector and without faults. The recording of any other run stays empty,
// because its lines do not show how long a query took.
MUST_USE bool recording_take(struct recording *r, const struct ledger *l, struct err *e);
void recording_fini(struct recording *r);
