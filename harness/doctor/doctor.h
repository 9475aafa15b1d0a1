// doctor: finds what would break a collector or a run, on a server or on a pooler or proxy before
// it.
//
// It tries everything in two sessions of our own, or asks the server. It creates nothing, and
// changes nothing of others.
#pragma once

#include <libpq-fe.h>
#include <stddef.h>

#include "base/err.h"

enum weight {
    WEIGHT_GOOD,   // examined, and nothing is wrong
    WEIGHT_NOTE,   // works, but the user should know
    WEIGHT_BREAKS, // a collector or a run would fail, lose or wait
};

struct finding {
    const char *about; // the examination's name, static
    enum weight weight;
    char what[300];   // what was found, and what it breaks
    char advice[300]; // what to do; "" for WEIGHT_GOOD
};

#define DOCTOR_FINDINGS_MAX 40

struct diagnosis {
    struct finding findings[DOCTOR_FINDINGS_MAX];
    size_t count;
};

// Examines the server that conninfo names, in a few seconds. A server that does
// not answer is a finding. False only when we ourselves fail: ERR_USAGE for a
// conninfo that cannot be parsed. Texts never show a password.
MUST_USE bool doctor_examine(struct diagnosis *d, const char *conninfo, struct err *e);

// Returns how many findings have that weight.
size_t doctor_count(const struct diagnosis *d, enum weight weight);
