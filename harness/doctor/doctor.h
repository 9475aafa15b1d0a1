// doctor: finds what would break a collector or a run, on a server or on a pooler or proxy in front
// of it.
//
// It opens two sessions, in which it tries things out or asks the server. It creates nothing, and
// changes nothing that belongs to others.
#pragma once

#include <libpq-fe.h>

#include "base/base.h"

enum weight {
    WEIGHT_GOOD,   // it was examined, and nothing is wrong
    WEIGHT_NOTE,   // it works, but the user should know about it
    WEIGHT_BREAKS, // a collector or a run would fail, wait or lose tokens
};

// Whom a finding concerns. A run makes its own database on the server, and needs nothing in this
// one.
enum concern {
    CONCERNS_BOTH,
    CONCERNS_COLLECTOR, // a collector in this database
    CONCERNS_RUN,
};

struct finding {
    const char *about; // name of the examination; static
    enum weight weight;
    enum concern concern;
    char what[300];   // the finding, and what it breaks
    char advice[300]; // what the user can do; "" for WEIGHT_GOOD
};

#define DOCTOR_FINDINGS_MAX 40

struct diagnosis {
    struct finding findings[DOCTOR_FINDINGS_MAX];
    size_t count;
};

// Examines the server that conninfo names, in a few seconds. A server that does not answer is a
// finding, too. Returns false only when the examination itself fails: ERR_USAGE for a conninfo that
// cannot be parsed. The texts never show a password.
MUST_USE bool doctor_examine(struct diagnosis *d, const char *conninfo, struct err *e);

// Returns how many findings have that weight and concern `whom`, or both. With CONCERNS_BOTH,
// counts findings whomever they concern.
size_t doctor_count(const struct diagnosis *d, enum weight weight, enum concern whom);
