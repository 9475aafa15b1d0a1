// Keeps what the sampler observed of server and machine during a run. The history does not hold
// these observations. observed.json keeps them, and a later rendering reads them from there.
#pragma once

#include "postgres/sampler.h"
#include "scenario/quoted.h"
#include "scenario/scenario.h"

struct observed {
    struct sample *samples; // owned; in the order of time, on the run's clock
    size_t count;
    struct wait_count waits[SAMPLER_WAITS_MAX];
    size_t wait_count;
    bool sampled; // false: the figures of struct usage, which follow, were not measured
    double cpu_s[USAGE_GROUPS], busy_s, total_s;
    int64_t start_wall_ns;  // when the load began, ns since 1970
    int64_t harness_rss_kb; // largest memory of the harness itself, in kB
    char *collector;        // owned; the value of --collector; NULL: not given
    char *changed; // owned; the options that changed the scenario, quoted for a shell; NULL: none
    char *program; // owned; the tested program, see subject/command.h; NULL: not known
    struct quoted_flags promises; // owned; of a run that was read: what the documentation of its
                                  // queue promises
};

// Fills in *o, with the samples from a stopped sampler (NULL: there was none). The load began at
// start_ns on the run's clock. *o owns `program` afterwards. observed_fini accepts a zeroed struct.
void observed_take(struct observed *o, const struct sampler *s, int64_t start_ns,
    const struct scenario *scenario, const char *collector, char *program);
void observed_fini(struct observed *o);

// Appends the text of observed.json. `promises`: those that a report quotes; NULL: none.
MUST_USE bool observed_write(const struct observed *o, const struct quoted_flags *promises,
    int64_t start_ns, struct buf *out, struct err *e);

// Reads the observed.json of a result folder; ERR_USAGE names the mistake in it.
MUST_USE bool observed_read(
    struct observed *o, int64_t start_ns, const char *folder, struct err *e);
