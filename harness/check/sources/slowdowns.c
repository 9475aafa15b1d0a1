// A fault that delays each step by a known time does not excuse its whole time: while it lasts, a
// token's way may take longer by ten such delays.
//
// The fault decides what a step is: a round trip when the network is delayed, the transfer of
// one batch at 1 kB a token when the network is throttled, a flush when the disk is slow. A network
// that passes less than twice what the load needs counts as one that stops the subject.
#include "check/lookup.h"
#include "check/sources/sources.h"

static const int steps =
    10; // round trips or flushes on a token's way, including those of the line before

static const int64_t piece_ns = 100 * NS_PER_US; // the proxy needs this to wake up for each piece

static const double token_bytes = 1000; // of one token on the wire: announcement, row, confirmation

// Returns by how much a network that passes only `rate` bytes a second delays each answer: the time
// to transfer one full batch and one token more. 0: unknown, because the rate is less than twice
// what the load needs, and a backlog may grow.
static int64_t throttle_delay_ns(const struct scenario *s, double rate)
{
    double line_bytes = token_bytes * (1 + s->collector.batch_limit);

    if (rate < 2 * token_bytes * lookup_highest_rate(s, 0, CLOCK_NEVER))
        return 0;
    return (int64_t)(line_bytes / rate * NS_PER_S);
}

int64_t sources_step_ns(const struct scenario *s, const struct fault_spec *f)
{
    bool network = f->verb->hits == HITS_NETWORK;

    // A round trip passes a delayed network twice. A flush is delayed once.
    if (f->verb->params & PARAM_BY)
        return (network ? 2 : 1) * (f->by_ns + f->jitter_ns);
    // A piece of `bytes` passes, then comes a pause: together they make a rate in bytes a second.
    if (f->verb->params & PARAM_GAP)
        return throttle_delay_ns(s, f->bytes * (double)NS_PER_S / (double)(f->gap_ns + piece_ns));
    // A slow reader has a rate, too, but counts as a strike (strikes.c).
    return network && (f->verb->params & PARAM_RATE) ? throttle_delay_ns(s, f->rate) : 0;
}

void source_slowdowns(struct sources *s)
{
    struct timeline *t = s->timeline;

    for (uint32_t i = 0; i < s->l->fault_count; i++) {
        const struct fault_record *f = &s->l->faults[i];
        int64_t step_ns = sources_step_ns(s->l->scenario, f->spec);
        // A fault without a delay of known length is no slowdown. It may be a strike, which takes
        // its whole time.
        if (!f->began_ns || step_ns == 0)
            continue;
        memory_grow(&t->slowdowns, t->slowdown_count, 1, sizeof *t->slowdowns);
        // When the fault ends, what it holds back may be on its way for one more delay, in one
        // direction.
        t->slowdowns[t->slowdown_count++] = (struct slowdown){.from_ns = f->began_ns,
            .until_ns = f->ended_ns,
            .step_ns = step_ns,
            .tail_ns =
                f->spec->verb->params & PARAM_BY ? f->spec->by_ns + f->spec->jitter_ns : step_ns,
            .allows_ns = steps * step_ns,
            .verb = f->spec->verb,
            .cause = {CAUSE_FAULT, i}};
    }
}
