// One timeline of all that excuses a wait: spans of time, each with its cause. The sources
// (sources/) make them from the ledger; nobody else looks at the records of faults for that.
#pragma once

#include "check/cause.h"
#include "ledger/ledger.h"

#define EVERY (-1)   // a span with this instance excuses the lines of all
#define ANYBODY (-2) // asks for the spans and strikes of any instance

struct span {
    int64_t from_ns, until_ns;
    int instance;
    struct cause cause;
};

// While it lasts, a step of a token's way may take that much longer.
struct slowdown {
    int64_t from_ns, until_ns;
    int64_t step_ns;   // by which one step takes longer
    int64_t tail_ns;   // how long behind its end something may still be on its way
    int64_t allows_ns; // by which all of them do, at most
    const struct verb *verb;
    struct cause cause;
};

// One blow of a fault that stops the subject, or the death of a sender.
struct strike {
    int64_t struck_ns, undone_ns;
    int64_t
        ready_ns;    // when the struck one's connections were seen to be open and to rest; 0: never
    int64_t back_ns; // when the struck ones must work again, or showed that they do; CLOCK_NEVER:
                     // nobody starts them again
    int64_t bound_ns;  // when they must at the latest, whatever they show; known before the run but
                       // for the time of the strike
    int64_t others_ns; // when others must work in the place of the struck one; CLOCK_NEVER: never
    int instance;      // EVERY: it strikes all
    const struct verb *verb;
    bool for_good; // nobody starts the struck process again
    struct cause cause;
};

// The tokens that an instance had taken when a fault struck it: others write them later.
struct bequest {
    int64_t struck_ns;
    int64_t until_ns;     // until when others must have written them
    int64_t own_until_ns; // until when the struck one itself must have; not before until_ns
    int instance;
    uint64_t most; // so many tokens can it have taken
    struct cause cause;
};

struct timeline {
    struct span *spans; // owned; in the order of their beginning
    size_t span_count;
    int64_t *latest_ns;     // owned; per span: the latest end of this one and of all before it
    struct strike *strikes; // owned, as are the next; in the order of their beginning
    size_t strike_count;
    struct slowdown *slowdowns;
    size_t slowdown_count;
    struct bequest *bequests;
    size_t bequest_count;
};

// sources_make makes it.
void timeline_fini(struct timeline *t);

// The free part of a stretch of time for the lines of an instance; EVERY: for those of any. Time in
// which the instance is away is free, because others can do its work; bequests tell which tokens it
// had. Time in which its reader or its sender is away is not, because its lines stay with these.
struct free_time {
    int64_t ns;
    struct cause cause; // the span that took most of the rest; CAUSE_NONE without one
};

struct free_time timeline_free(
    const struct timeline *t, int instance, int64_t from_ns, int64_t until_ns);

// Returns when `need_ns` of free time have passed since from_ns.
int64_t timeline_due_ns(const struct timeline *t, int instance, int64_t from_ns, int64_t need_ns);

// Returns the first span of this instance, or of every one, that touches a stretch of time; NULL
// without one.
const struct span *timeline_span(
    const struct timeline *t, int instance, int64_t from_ns, int64_t until_ns);

// Returns its cause, or the slow fault that lasts then.
struct cause timeline_cause(
    const struct timeline *t, int instance, int64_t from_ns, int64_t until_ns);

// Returns the first strike after `after` (NULL: the first of all) on this instance, or on all, that
// lasts in a stretch of time; NULL: there is none. instance EVERY: on any.
const struct strike *timeline_strike(const struct timeline *t, const struct strike *after,
    int instance, int64_t from_ns, int64_t until_ns);

// Returns the first strike on this very instance that lasts in a stretch of time, or from which the
// instance is on its way back then, or the first slow fault. What strikes others is no excuse for
// this one. ANYBODY: on any; one that never comes back disturbs until others have taken over.
struct cause timeline_hit(
    const struct timeline *t, int instance, int64_t from_ns, int64_t until_ns);

// Returns until when the faults last that begin before until_ns and disturb this instance, with its
// return; INT64_MIN without one. instance EVERY: any of them.
int64_t timeline_settled_ns(const struct timeline *t, int instance, int64_t until_ns);

// Returns by how much slow faults between two times may lengthen a wait.
struct free_time timeline_allowance(const struct timeline *t, int64_t from_ns, int64_t until_ns);

// Returns the first bequest after `after` (NULL: the first of all) between two times that is not
// used up; NULL: there is none. A token claims one at most.
struct bequest *timeline_bequest(
    const struct timeline *t, const struct bequest *after, int64_t from_ns, int64_t until_ns);
