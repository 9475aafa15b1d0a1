#include "shrink/search.h"

static void allocate_sketch(struct sketch *k, const struct whole *w)
{
    k->spans = memory_zeroed(w->scenario->load_count, sizeof *k->spans);
    k->faults = memory_zeroed(w->plan->fault_count, sizeof *k->faults);
}

void sketch_whole(struct sketch *k, const struct whole *w)
{
    const struct scenario *s = w->scenario;

    *k = (struct sketch){.instances = s->collector.instances};
    allocate_sketch(k, w);
    for (size_t i = 0; i < s->load_count; i++) {
        k->spans[i].to_ns = s->load[i].for_ns;
        if (s->load[i].connections > k->connections)
            k->connections = s->load[i].connections;
    }
    memset(k->faults, true, w->plan->fault_count);
}

struct sketch sketch_copy(const struct sketch *from, const struct whole *w)
{
    struct sketch k = *from;

    allocate_sketch(&k, w);
    memcpy(k.spans, from->spans, w->scenario->load_count * sizeof *k.spans);
    memcpy(k.faults, from->faults, w->plan->fault_count * sizeof *k.faults);
    return k;
}

void sketch_fini(struct sketch *k)
{
    free(k->spans);
    free(k->faults);
    *k = (struct sketch){0};
}

int64_t sketch_load_ns(const struct sketch *k, const struct whole *w)
{
    int64_t ns = 0;

    for (size_t i = 0; i < w->scenario->load_count; i++)
        ns += k->spans[i].to_ns - k->spans[i].from_ns;
    return ns;
}

int64_t sketch_fault_ns(const struct sketch *k, const struct whole *w, size_t fault)
{
    const struct scenario *s = w->scenario;
    // In the loop, at_ns is the fault's time counted from the start of phase i, and left_ns what is
    // left of the phases before phase i.
    int64_t at_ns = w->plan->faults[fault].at_ns, left_ns = 0;

    for (size_t i = 0; i < s->load_count; i++) {
        const struct span *span = &k->spans[i];
        bool last = i + 1 == s->load_count; // a fault at the load's end belongs to the last phase
        if (at_ns < s->load[i].for_ns || last) {
            bool inside =
                span->to_ns > span->from_ns && at_ns >= span->from_ns && at_ns <= span->to_ns;
            return inside ? left_ns + at_ns - span->from_ns : -1;
        }
        at_ns -= s->load[i].for_ns;
        left_ns += span->to_ns - span->from_ns;
    }
    return -1;
}

size_t sketch_fault_count(const struct sketch *k, const struct whole *w)
{
    size_t count = 0;

    for (size_t i = 0; i < w->plan->fault_count; i++)
        count += k->faults[i];
    return count;
}

// A stretch shorter than a millisecond is not kept, because the format has no shorter phase.
void sketch_cut(struct sketch *k, const struct whole *w, int64_t from_ns, int64_t to_ns)
{
    int64_t start_ns = 0; // where phase i begins in the load that is left

    for (size_t i = 0; i < w->scenario->load_count; i++) {
        struct span *span = &k->spans[i];
        int64_t length_ns = span->to_ns - span->from_ns;
        int64_t begin_ns = clock_max(from_ns - start_ns, 0);
        int64_t end_ns = clock_min(to_ns - start_ns, length_ns);
        span->to_ns = span->from_ns + end_ns;
        span->from_ns += begin_ns;
        if (end_ns - begin_ns < NS_PER_MS)
            *span = (struct span){0};
        start_ns += length_ns;
    }
    sketch_drop_gone_faults(k, w);
}

void sketch_drop_gone_faults(struct sketch *k, const struct whole *w)
{
    for (size_t i = 0; i < w->plan->fault_count; i++) {
        const struct fault_spec *spec = &w->scenario->faults[w->plan->faults[i].spec];
        if (sketch_fault_ns(k, w, i) < 0 || spec->instance >= k->instances)
            k->faults[i] = false;
    }
}

// Adds a number to the hash: FNV-1a, but with whole numbers instead of bytes. If two different
// sketches should have the same hash, the search merely misses one candidate.
static void mix_number(uint64_t *hash, int64_t number)
{
    *hash = (*hash ^ (uint64_t)number) * UINT64_C(0x100000001b3);
    *hash ^= *hash >> 32;
}

uint64_t sketch_hash(const struct sketch *k, const struct whole *w)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    mix_number(&hash, k->halvings);
    mix_number(&hash, k->connections);
    mix_number(&hash, k->instances);
    mix_number(&hash, k->plain);
    for (size_t i = 0; i < w->scenario->load_count; i++) {
        mix_number(&hash, k->spans[i].from_ns);
        mix_number(&hash, k->spans[i].to_ns);
    }
    for (size_t i = 0; i < w->plan->fault_count; i++)
        mix_number(&hash, k->faults[i]);
    return hash;
}

int64_t sketch_drain_ns(const struct scenario *s)
{
    // By this time a good collector has written everything. A run in which tokens are lost waits
    // for the whole drain, so a shorter drain saves time.
    int64_t fair_ns = s->recovery_limit_ns + 2 * s->collector.batch_timeout_ns + NS_PER_S;

    return clock_min(s->drain_ns, fair_ns);
}
