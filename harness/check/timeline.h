// One timeline of all that excuses a wait: spans of time, each with its cause. The sources
// (sources/) make these spans from the ledger. All others ask the timeline instead of the records
// of faults.
#pragma once

#include "check/cause.h"
#include "ledger/ledger.h"

// EVERY is the instance of a span that excuses the lines of all instances, and of a strike that
// struck all of them. Some functions also take EVERY, and say what it means there. ANY_INSTANCE is
// only given to functions: the spans and strikes of each instance count.
#define EVERY (-1)
#define ANY_INSTANCE (-2)

struct span {
    int64_t from_ns, until_ns; // from_ns is the first member, for clock_compare
    int instance;
    struct cause cause;
};

// A slow fault. While it lasts, each step of a token's way may take longer by step_ns.
struct slowdown {
    int64_t from_ns, until_ns;
    int64_t step_ns;   // how much longer one step takes
    int64_t tail_ns;   // how long after its end something that it delayed may be on its way
    int64_t allows_ns; // how much longer all steps together may take
    const struct verb *verb;
    struct cause cause;
};

// One time at which a fault that stops the subject struck, or a sender died.
struct strike {
    int64_t struck_ns, undone_ns;
    int64_t ready_ns;  // when the connections of the struck instance were seen to be open and to
                       // rest; 0: never
    int64_t back_ns;   // when the struck instances showed that they work again, or else bound_ns;
                       // CLOCK_NEVER: nobody starts them again
    int64_t bound_ns;  // when they must work again at the latest, whatever they show
    int64_t others_ns; // when other instances must work in the place of the struck one;
                       // CLOCK_NEVER: never
    int instance;      // EVERY: it struck all instances
    const struct verb *verb;
    bool for_good; // nobody starts the struck process again
    struct cause cause;
};

// The tokens that an instance had taken when a fault struck it. They come later: others write them,
// or the instance itself.
struct bequest {
    int64_t struck_ns;
    int64_t until_ns;     // when others can have taken them over: from then on, batch timeout and
                          // slack count
    int64_t own_until_ns; // the same for the struck instance itself; not before until_ns
    int instance;
    uint64_t tokens_left; // how many more tokens it may excuse
    struct cause cause;
};

struct timeline {
    struct span *spans; // owned; in the order of their beginning
    size_t span_count;
    int64_t *latest_ns;     // owned; per span: the latest end of this span and of all before it
    struct strike *strikes; // owned, as are slowdowns and bequests; in the order of their beginning
    size_t strike_count;
    struct slowdown *slowdowns;
    size_t slowdown_count;
    struct bequest *bequests;
    size_t bequest_count;
};

// sources_make makes a timeline.
void timeline_fini(struct timeline *t);

// The part of a stretch of time that no fault takes from the lines of an instance; EVERY: from
// those of all instances. Time in which the instance itself is away is free, because others can do
// its work; bequests tell which tokens it had. Time in which its reader or its sender is away is
// not free, because its lines stay with these.
struct free_time {
    int64_t ns;
    struct cause cause; // the span that took most of the time that is not free; CAUSE_NONE: all of
                        // it is free
};

struct free_time timeline_free(
    const struct timeline *t, int instance, int64_t from_ns, int64_t until_ns);

// Returns when `need_ns` of free time have passed since from_ns; CLOCK_NEVER: never.
int64_t timeline_due_ns(const struct timeline *t, int instance, int64_t from_ns, int64_t need_ns);

// Returns the first span that excuses this instance and touches a stretch of time; NULL without
// one.
const struct span *timeline_span(
    const struct timeline *t, int instance, int64_t from_ns, int64_t until_ns);

// Returns the cause of the span that timeline_span finds. Without one, it returns the slow fault
// that lasts then; CAUSE_NONE: there is neither.
struct cause timeline_cause(
    const struct timeline *t, int instance, int64_t from_ns, int64_t until_ns);

// Returns the first strike after `after` (NULL: the first of all) that hit this instance, struck by
// until_ns, and was undone at from_ns or later; NULL: there is none. A strike on all instances hit
// each of them. instance EVERY, as of a strike on all instances: any strike counts, because it hit
// one of them.
const struct strike *timeline_strike(const struct timeline *t, const struct strike *after,
    int instance, int64_t from_ns, int64_t until_ns);

// Returns for how long a strike lasts between *done_ns and until_ns, and moves *done_ns to its end.
// So in a walk over strikes, which are in the order of time, no instant counts twice.
int64_t timeline_strike_takes_ns(const struct strike *k, int64_t *done_ns, int64_t until_ns);

// Returns what disturbed this instance between two times: the first strike on it that lasted beyond
// from_ns, or from which the instance came back only after from_ns. Without such a strike, it is
// the last slow fault of that time; CAUSE_NONE: nothing disturbed the instance. With ANY_INSTANCE
// a strike on any instance counts, but one from which an instance never comes back counts only
// until others must have taken over.
struct cause timeline_disturbed_by(
    const struct timeline *t, int instance, int64_t from_ns, int64_t until_ns);

// Returns when all disturbances of this instance that began before until_ns are over; INT64_MIN:
// there was none. A disturbance is a span that excuses the instance, a strike on it until the
// instance is back, or a slow fault until what it delayed has arrived. instance EVERY: all strikes
// count, and of the spans only those that excuse all instances.
int64_t timeline_settled_ns(const struct timeline *t, int instance, int64_t until_ns);

// Returns, as `ns`, by how much slow faults between two times may lengthen a wait. `cause` is the
// last of these faults.
struct free_time timeline_allowance(const struct timeline *t, int64_t from_ns, int64_t until_ns);

// Returns the first bequest after `after` (NULL: the first of all) whose strike lies between two
// times and which can excuse more tokens; NULL: there is none.
struct bequest *timeline_next_bequest(
    const struct timeline *t, const struct bequest *after, int64_t from_ns, int64_t until_ns);
