// A draw that was run: its verdict, and what happened in the run. It is made from the run's
// result.json, stored as one line of the journal, and read back from there.
#pragma once

#include <jansson.h>

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

// Returns the mode of a scenario.
enum mode mode_of(const struct scenario *s);
// Returns a mode in words, such as "shared, several".
const char *mode_name(enum mode mode);

// A fault that took effect, and the state of the connection that it met.
struct met {
    size_t verb;               // index into verbs[]
    double from_s, to_s;       // since the load began
    enum exchange_state state; // that of the collector's connection when the fault came
};

#define TRIED_FAULTS_MAX 100

struct tried {
    uint64_t number;
    enum verdict verdict;
    bool judged; // false: there is no verdict, because the harness itself failed; `why` says how
    bool broken[METRIC_COUNT];
    enum mode mode;
    bool verbs[DRAW_VERBS_MAX]; // by index into verbs[]: the verbs that its scenario has; stored
                                // only for a draw that broke something
    struct met met[TRIED_FAULTS_MAX];
    size_t met_count;
    double took_s;
    char why[160]; // why the run was inconclusive or not judged
};

// Sets has[] for each verb (index into verbs[]) that the scenario has.
void verbs_of(const struct scenario *s, bool has[DRAW_VERBS_MAX]);

// Fills in judged, verdict, broken, met and why from a result.json; the caller sets number, mode,
// verbs and took_s. False when the result has no verdict.
MUST_USE bool tried_take(struct tried *t, const json_t *result, struct err *e);

// Sets `why`; a text that is too long is cut.
void tried_why(struct tried *t, const char *why);

// Convert sets of invariants and of verbs to JSON lists of names, and back. Reading adds to a set,
// and leaves out unknown names.
json_t *broken_write(const bool broken[METRIC_COUNT]);
json_t *verbs_write(const bool has[DRAW_VERBS_MAX]);
void broken_read(bool broken[METRIC_COUNT], const json_t *list);
void verbs_read(bool has[DRAW_VERBS_MAX], const json_t *list);

// Convert a tried draw to a JSON object (a new reference; NULL when a text is not UTF-8), and back.
json_t *tried_write(const struct tried *t);
MUST_USE bool tried_read(struct tried *t, const json_t *line, struct err *e);

// True when the draw was judged and broke an invariant.
bool tried_broke(const struct tried *t);

// Writes the names of the broken invariants, separated by commas; "" when none is broken.
void tried_broken_text(const bool broken[METRIC_COUNT], char *out, size_t size);
