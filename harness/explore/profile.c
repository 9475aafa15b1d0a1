#include "explore/draw.h"

#define CURSOR (1u << DEQUEUE_CURSOR)
#define SHARED (1u << DEQUEUE_SHARED)
#define LEASED (1u << DEQUEUE_LEASED)

static const struct profile profiles[] = {
    // The random load: no section is given, so all are drawn.
    {.share = 0.72, .dequeues = CURSOR | SHARED | LEASED, .instances = 1},
    // A large number of tokens at once. The batch limit is fixed, because batches of one token
    // would take longer than any drain.
    {.share = 0.06,
        .dequeues = CURSOR | SHARED | LEASED,
        .instances = 1,
        .load_ns = 2 * NS_PER_S,
        .collector = "  batch_limit: 50\n  batch_timeout: 100ms\n",
        .load = "  - {name: bulk, for: 2s, rate: 3000/s, connections: 16, "
                "rows_per_transaction: 100, recovery: 0.5, "
                "hold_open: {share: 0.5, for: 150ms}}\n"},
    // More tokens at once than one collector can handle, so that a second collector which stays
    // idle is noticed.
    {.share = 0.04,
        .dequeues = SHARED | LEASED,
        .quiet = true,
        .instances = 2,
        .load_ns = 2500 * NS_PER_MS,
        .collector = "  instances: 2\n  batch_limit: 10\n  batch_timeout: 200ms\n",
        .load = "  - {name: before, for: 1500ms, rate: 0/s}\n"
                "  - {name: burst, for: 1s, rate: 1000/s, rows_per_transaction: 1000, "
                "arrivals: constant}\n"},
    // A long rest, so that the invariant `busy_idle` is judged.
    {.share = 0.05,
        .dequeues = CURSOR | SHARED | LEASED,
        .quiet = true,
        .instances = 1,
        .load_ns = 3500 * NS_PER_MS,
        .collector = "  batch_limit: 20\n  batch_timeout: 200ms\n",
        .load = "  - {name: load, for: 500ms, rate: 40/s}\n"
                "  - {name: rest, for: 3s, rate: 0/s}\n",
        .expect = "expect: {busy_idle: \"= 0\"}\n"},
    // A steady load with a line for each token, so that the invariant `leak` is judged.
    {.share = 0.05,
        .dequeues = CURSOR | SHARED | LEASED,
        .quiet = true,
        .instances = 1,
        .load_ns = 4500 * NS_PER_MS,
        .collector = "  batch_limit: 1\n  batch_timeout: 200ms\n",
        .load = "  - {name: fast, for: 4500ms, rate: 120/s, recovery: 0.2}\n",
        .expect = "expect: {leak: \"= 0\"}\n"},
    // The capacity is set, so that falls_behind is judged. Even a busy machine sustains 25 lines a
    // second, each of 10 tokens. Leased mode is left out, because a sender that hangs does not
    // sustain them.
    {.share = 0.04,
        .dequeues = CURSOR | SHARED,
        .quiet = true,
        .instances = 1,
        .load_ns = 3 * NS_PER_S,
        .collector = "  batch_limit: 10\n  batch_timeout: 100ms\n  capacity: 250/s\n",
        .load = "  - {name: paced, for: 3s, rate: 200/s, arrivals: constant}\n"},
    // Two lanes, and a sender that needs about four seconds for the higher lane alone, so that the
    // invariant `starved` is judged.
    {.share = 0.04,
        .dequeues = LEASED,
        .quiet = true,
        .complete = true,
        .instances = 1,
        .load_ns = 2 * NS_PER_S,
        .collector = "  batch_limit: 5\n  batch_timeout: 20ms\n  dequeue: leased\n"
                     "  sender: {delay: 80ms..100ms}\n"
                     "  env: {MAILROOM_IN_FLIGHT: \"2\", MAILROOM_AGEING: \"1000\", "
                     "MAILROOM_LANES: \"password_recovery,activation\"}\n",
        .load = "  - {name: lanes, for: 2s, rate: 20/s, recovery: 0.8, backlog: 500}\n"},
};

const struct profile *profile_draw(const struct draw_limits *limits, struct rng *rng)
{
    unsigned allowed = limits->dequeues ? limits->dequeues : DRAW_DEQUEUES;
    double point = rng_uniform(rng); // the shares of the profiles add up to 1
    const struct profile *p = profiles;

    for (size_t i = 0; i + 1 < sizeof profiles / sizeof *profiles && point >= p->share; i++, p++)
        point -= p->share;
    // profiles[0], the random load, takes the place of a profile that fits none of the allowed
    // modes, or that has no faults when the user asks for certain ones.
    bool fits = (p->dequeues & allowed) && !(limits->any_only && p->quiet);
    return fits ? p : profiles;
}
