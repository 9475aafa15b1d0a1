// One draw that was run: its result, and what happened in it. It is made from a run's result.json,
// stored as one line of the journal, and read back from there.
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "base/err.h"
#include "check/check.h"
#include "explore/draw.h"
#include "fault/exchange.h"

// How the collector dequeues, and whether there are several collectors.
enum mode {
    MODE_CURSOR,
    MODE_CURSOR_SEVERAL,
    MODE_SHARED,
    MODE_SHARED_SEVERAL,
    MODE_LEASED,
    MODE_LEASED_SEVERAL,
    MODES,
};

enum mode mode_of(const struct scenario *s);
const char *mode_name(enum mode mode);

// A fault that took effect.
struct met {
    size_t verb; // index into verbs[]
    double from_s, to_s;
    enum exchange_state wire;
};

#define TRIED_FAULTS_MAX 100

struct tried {
    uint64_t number;
    enum verdict verdict;
    bool judged; // false: the harness itself failed, and `why` says how
    bool broken[METRIC_COUNT];
    enum mode mode;
    bool verbs[DRAW_VERBS_MAX]; // the verbs that its scenario has, by index into verbs[]; kept only
                                // of a draw that broke something
    struct met met[TRIED_FAULTS_MAX];
    size_t met_count;
    double took_s;
    char why[160]; // the reason of a run that is inconclusive or was not judged
};

// Marks the verbs that a scenario has.
void verbs_of(const struct scenario *s, bool has[DRAW_VERBS_MAX]);

// Fills in what a result.json says. The caller sets number, mode, verbs and took_s.
MUST_USE bool tried_take(struct tried *t, const json_t *result, struct err *e);

// Notes why a draw was not judged. Text that is too long is cut.
void tried_why(struct tried *t, const char *why);

// Lists of names in JSON, and back. A name that is not known is left out.
json_t *broken_write(const bool broken[METRIC_COUNT]);
json_t *verbs_write(const bool has[DRAW_VERBS_MAX]);
void broken_read(bool broken[METRIC_COUNT], const json_t *list);
void verbs_read(bool has[DRAW_VERBS_MAX], const json_t *list);

// Converts it to a JSON object (a new reference, NULL without memory), and back.
json_t *tried_write(const struct tried *t);
MUST_USE bool tried_read(struct tried *t, const json_t *line, struct err *e);

// True when it was judged and broke an invariant.
bool tried_broke(const struct tried *t);

// Returns the broken invariants, comma-joined; "" when none is.
void tried_broken_text(const bool broken[METRIC_COUNT], char *out, size_t size);
