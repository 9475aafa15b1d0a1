#include "timing/flow.h"

#define STRETCH_NS (100 * NS_PER_MS)    // the rate is measured over at least this time
#define PAUSED_NS (200 * NS_PER_MS)     // a stretch is longer only if arrivals or takes paused
#define SHORTEST_NS (2 * NS_PER_MS)     // the shortest time between two looks
#define LONGEST_NS (50 * NS_PER_MS)     // the longest time between two looks while few tokens wait
#define READ_AGAIN_NS (100 * NS_PER_US) // or this for each waiting token, if that is longer
#define PAUSES_IN_TIMEOUT 4             // no pause is longer than the timeout divided by this
#define SAVED_LEAST 4                   // looks begin when a look saves this many announcements
#define LIMIT_LEAST 8                   // batches with a smaller limit are full before a look pays

void flow_count(struct flow *f, bool looking, int64_t arrived, int64_t now_ns)
{
    int64_t stretch_ns = now_ns - f->since_ns;

    if (stretch_ns < STRETCH_NS) // the stretch is not complete
        return;
    // While each token is announced, each leads to a call, once a take may be sent. So in a long
    // stretch none came, or none could be taken. If the count has fallen, other collectors took
    // some tokens. That says nothing about the rate, which then stays as it is.
    if (!looking && stretch_ns > PAUSED_NS)
        f->per_ns = 0;
    else if (arrived >= f->arrived)
        f->per_ns = (double)(arrived - f->arrived) / (double)stretch_ns;
    f->since_ns = now_ns;
    f->arrived = arrived;
}

// True when looks pay: each saves enough announcements, and a batch is large enough to wait for.
// Looks that go on need to save half as much as looks that begin, so that a rate near the bound
// does not switch between both ways all the time.
static bool looks_pay(const struct flow *f, bool looking, int limit, int64_t timeout_ns)
{
    double saved = f->per_ns * (double)clock_min(LONGEST_NS, timeout_ns / PAUSES_IN_TIMEOUT);

    return limit >= LIMIT_LEAST && saved >= (looking ? SAVED_LEAST / 2 : SAVED_LEAST);
}

int64_t flow_pause_ns(
    const struct flow *f, bool looking, int waiting, int limit, int64_t timeout_ns)
{
    int64_t longest_ns = clock_max(LONGEST_NS, READ_AGAIN_NS * waiting);

    if (!looks_pay(f, looking, limit, timeout_ns))
        return CLOCK_NEVER;
    longest_ns = clock_min(longest_ns, timeout_ns / PAUSES_IN_TIMEOUT);
    // The first token of a batch counts as old as the look before (flow.h). If that was long ago,
    // the line would go out too early for this token.
    if (waiting == 0)
        return clock_min(SHORTEST_NS, longest_ns);
    // The time until the batch is likely to be full.
    double full_ns = waiting < limit ? (limit - waiting) / f->per_ns : 0;
    if (full_ns < (double)SHORTEST_NS)
        full_ns = (double)SHORTEST_NS;
    return full_ns < (double)longest_ns ? (int64_t)full_ns : longest_ns;
}
