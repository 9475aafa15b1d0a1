// The sources of the timeline. Each is one pure function of the ledger, and lists spans by what the
// harness did or measured itself. What the subject does may end a span early; it never begins one
// and never lengthens one. Each span has a bound that stands in the scenario before the run.
#pragma once

#include "check/timeline.h"

// Inputs that all sources share.
struct sources {
    const struct ledger *l;
    struct timeline *out; // with its strikes
    bool full;            // there was no memory for a span
};

// True when the fault may stop the subject. What only burdens its server, or slows it by a known
// time, does not. What slows it by a time that nobody knows counts as if it stopped it. Another
// writer holds up only a subject that waits for open writers.
bool strike_is_made_by(const struct scenario *s, const struct fault_spec *f);

// True when others go on in the place of the struck instance. Then only the takeover takes time.
bool strike_is_taken_over(const struct sources *s, const struct strike *k);

// True when a strike only slows a reader. It takes no time as a whole: lines show what it takes.
bool strike_slows_reader(const struct strike *k);

// Makes the timeline of a ledger; the owner calls timeline_fini, also when it fails.
MUST_USE bool sources_make(struct timeline *t, const struct ledger *l, struct err *e);

MUST_USE bool strikes_make(struct sources *s, struct err *e);

// Adds a span, unless it is empty.
void sources_span(struct sources *s, struct span span);

void source_faults(struct sources *s);    // from the blow until it is undone
void source_returns(struct sources *s);   // until the struck ones work again
void source_takeovers(struct sources *s); // until another works in the place of the struck one
void source_readers(struct sources *s);   // while lines lie in the pipe of a slow reader
void source_senders(struct sources *s);   // while no answer comes for all lines in flight
void source_together(struct sources *s);  // while each of several has a span; after the others
void source_slowdowns(struct sources *s);
void source_bequests(struct sources *s);

// Returns by how much longer one step takes while such a fault lasts: a delay of the network meets
// both ways of a round trip. 0: the fault does not slow, or nobody knows by how much.
int64_t sources_step_ns(const struct scenario *s, const struct fault_spec *f);

// Returns the others_ns of a strike.
int64_t sources_others_ns(const struct sources *s, const struct strike *k);

// Returns when the instance must work again; CLOCK_NEVER: nobody starts it again. instance EVERY:
// the first of them.
int64_t sources_bound_ns(const struct sources *s, const struct strike *k, int instance);

// Returns the back_ns of a strike for one of the instances; EVERY: for the first of them. What is
// back shows it by the second line of one process, the first of which holds a token that was
// committed after the end of the fault.
int64_t sources_back_ns(const struct sources *s, const struct strike *k, int instance);
