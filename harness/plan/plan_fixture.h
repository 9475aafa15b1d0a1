// Shared by the tests of plans: a small scenario that a test fills in, and its plan.
#pragma once

#include <math.h>

#include "base/unit.h"
#include "plan/plan.h"

#define PRINT_MAX ((size_t)64 << 20)

// A scenario of one phase, to which the tests add up to two more phases and three faults.
struct fixture {
    struct scenario s;
    struct load_phase load[3];
    struct fault_spec faults[3];
    struct plan p;
};

static inline struct fixture *new_fixture(double rate, int64_t for_ns, enum arrivals arrivals)
{
    struct fixture *f = calloc(1, sizeof *f);

    assert_non_null(f);
    f->load[0] = (struct load_phase){.name = "one",
        .for_ns = for_ns,
        .rate_from = rate,
        .rate_to = rate,
        .arrivals = arrivals,
        .connections = 8,
        .rows_from = 1,
        .rows_to = 1};
    f->s = (struct scenario){
        .name = "x", .seed = 1, .load = f->load, .load_count = 1, .faults = f->faults};
    return f;
}

static inline void make(struct fixture *f)
{
    struct err e = {0};

    plan_fini(&f->p);
    if (!plan_make(&f->p, &f->s, &e))
        fail_msg("%s", e.text);
}

static inline void drop(struct fixture *f)
{
    plan_fini(&f->p);
    free(f);
}

static inline void print(struct fixture *f, struct buf *out, bool json)
{
    make(f);
    buf_init(out, PRINT_MAX);
    assert_true(json ? plan_print_json(&f->p, &f->s, out) : plan_print(&f->p, &f->s, out));
}
