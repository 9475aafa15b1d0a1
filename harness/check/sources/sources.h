// The sources of the timeline. Each is one function, which reads the ledger and what the sources
// before it have listed. It lists spans by what the harness did or measured itself. What the
// subject does may end a span early, but never begins or lengthens one. Each span has a bound that
// stands in the scenario before the run.
#pragma once

#include "check/timeline.h"
#include "scenario/leased.h"

// What all sources share: the ledger that they read, and the timeline that they fill.
struct sources {
    const struct ledger *l;
    struct leased leased;      // what the scenario sets of leases
    struct timeline *timeline; // its strikes are listed before the first source is called
};

// True when the fault counts as a strike, because it may stop the subject:
// - a fault that stops the subject, or slows it by a time that is not known;
// - the end of the sender's process, but not a sender that is only slow to answer;
// - a transaction that is held open, if the subject waits for open writers.
// Not a fault of the load alone, nor one that only burdens the server.
bool strike_is_made_by(const struct scenario *s, const struct fault_spec *f);

// Returns the instance that the fault hits; EVERY when it hits all, or when there is only one.
int strike_instance(const struct scenario *s, const struct fault_spec *f);

// True when the instances take turns, and another goes on in the place of the struck one. Then only
// the takeover excuses time.
bool strike_is_taken_over(const struct sources *s, const struct strike *k);

// True when a strike only slows a reader. Then the strike does not excuse its whole duration, only,
// for each line, the time that the line lay unread (readers.c).
bool strike_slows_reader(const struct strike *k);

// Makes the timeline of a ledger; the owner calls timeline_fini.
void sources_make(struct timeline *t, const struct ledger *l);

// Lists the strikes, in the order of time.
void strikes_make(struct sources *s);

// Adds a span, unless it is empty.
void sources_add_span(struct sources *s, struct span span);

void source_faults(struct sources *s);    // from the strike until the fault is undone
void source_returns(struct sources *s);   // until the struck instances work again
void source_takeovers(struct sources *s); // until another works in the place of the struck one
void source_readers(struct sources *s);   // while lines lie in the pipe of a slow reader
void source_senders(struct sources *s);   // while all lines that may be in flight await answers
void source_together(struct sources *s);  // while all instances have spans, from the sources above

// Lists the slowdowns: the faults that delay each step by a known time.
void source_slowdowns(struct sources *s);
// Lists a bequest for each strike if the instances share the work.
void source_bequests(struct sources *s);

// Returns how much longer one step takes while this fault lasts. The kind of fault decides what a
// step is: a round trip, the transfer of one batch, or a flush. 0: the fault does not slow the
// subject, or nobody knows by how much.
int64_t sources_step_ns(const struct scenario *s, const struct fault_spec *f);

// Returns when others must work in the place of the struck instance, which is the strike's
// others_ns; CLOCK_NEVER: never.
int64_t sources_others_ns(const struct sources *s, const struct strike *k);

// Returns when the instance must work again at the latest, whatever it shows; CLOCK_NEVER: nobody
// starts it again. instance EVERY: the first of the instances.
int64_t sources_bound_ns(const struct sources *s, const struct strike *k, int instance);

// Returns when the instance must work again, or when it showed that it does (returns.c says how),
// if that was earlier; EVERY: the first of the instances.
int64_t sources_back_ns(const struct sources *s, const struct strike *k, int instance);
