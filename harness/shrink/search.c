#include "shrink/search.h"

static const int tries_max = 3;         // most tries of a candidate that does not fail
static const size_t steps_back_max = 3; // most steps back from the smallest sketch, once a sketch
                                        // has failed again

void search_init(struct search *s, const struct whole *w, const struct oracle *oracle)
{
    *s = (struct search){.whole = w, .oracle = *oracle};
    memory_grow(&s->kept, 0, 1, sizeof *s->kept);
    sketch_whole(&s->kept[s->kept_count++], w);
}

void search_fini(struct search *s)
{
    for (size_t i = 0; i < s->kept_count; i++)
        sketch_fini(&s->kept[i]);
    free(s->kept);
    free(s->tried);
    s->kept = NULL;
    s->tried = NULL;
    s->kept_count = s->tried_count = 0;
}

const struct sketch *search_best(const struct search *s)
{
    return &s->kept[s->kept_count - 1];
}

// --- one candidate ----------------------------------------------------------------------

// Returns what is known about the candidate with this hash.
static struct tried *find_or_add_tried(struct search *s, uint64_t hash)
{
    // Different moves often make the same sketch. A run is expensive, so what is known about a
    // sketch holds for all candidates with its hash.
    for (size_t i = 0; i < s->tried_count; i++) {
        if (s->tried[i].hash == hash)
            return &s->tried[i];
    }
    memory_grow(&s->tried, s->tried_count, 1, sizeof *s->tried);
    s->tried[s->tried_count] = (struct tried){.hash = hash};
    return &s->tried[s->tried_count++];
}

// True when the candidate fails in one of its remaining tries.
static bool candidate_fails(struct search *s, const struct sketch *candidate, struct tried *t)
{
    while (!s->stopped && t->passes < s->tries) {
        switch (s->oracle.ask(s->oracle.context, candidate)) {
        case ANSWER_FAILS:
            return true;
        case ANSWER_PASSES:
            t->passes++;
            break;
        // The candidate cannot be run at all, so it must never be tried again.
        case ANSWER_IMPOSSIBLE:
            t->passes = INT_MAX;
            return false;
        case ANSWER_STOP:
            s->stopped = true;
            break;
        }
    }
    return false;
}

bool search_attempt(struct search *s, struct sketch *candidate)
{
    bool better = false;

    // Candidates that differ only in faults which cannot happen any more count as the same, so
    // drop these faults before the hash is made.
    sketch_drop_gone_faults(candidate, s->whole);
    uint64_t hash = sketch_hash(candidate, s->whole);
    if (!s->stopped && hash != sketch_hash(search_best(s), s->whole))
        better = candidate_fails(s, candidate, find_or_add_tried(s, hash));
    if (better) {
        memory_grow(&s->kept, s->kept_count, 1, sizeof *candidate);
        s->kept[s->kept_count++] = *candidate;
    } else {
        sketch_fini(candidate);
    }
    return better;
}

// --- all of it --------------------------------------------------------------------------

// Makes all moves once. True when something could be taken away.
static bool make_all_moves(struct search *s)
{
    bool any = search_shorten(s);

    // The load comes first, because it makes up most of the time of all later runs.
    any = search_drop_phases(s) || any;
    any = search_drop_faults(s) || any;
    return search_reduce(s) || any;
}

void search_run(struct search *s)
{
    // In the first round each candidate has one try. In the second round, candidates whose run did
    // not fail have two more (s->tries is 1, then 3), because a race fails only now and then.
    s->tries = 1;
    while (!s->stopped && s->tries <= tries_max) {
        while (!s->stopped && make_all_moves(s))
            ;
        s->tries += tries_max - 1;
    }
}

// Tries a sketch `times` times, or until the search is stopped.
static struct confirmation ask_again(struct search *s, const struct sketch *k, int times)
{
    struct confirmation c = {0};

    while (!s->stopped && c.asked < times) {
        enum answer answer = s->oracle.ask(s->oracle.context, k);
        s->stopped = answer == ANSWER_STOP;
        c.asked += !s->stopped;
        c.failed += answer == ANSWER_FAILS;
    }
    return c;
}

// Steps back to larger sketches when the smallest fails only sometimes, because a scenario that
// seldom fails is of little use.
struct confirmation search_confirm(struct search *s, int times)
{
    struct confirmation best = {0}, c;
    size_t chosen = s->kept_count - 1;

    // The search may have been stopped, mostly because its time is over. If it has found something
    // smaller, go on here all the same: the oracle has kept time for this, and stops it if need be.
    s->stopped = s->stopped && chosen == 0;
    for (size_t i = chosen; i > 0; i--) {
        // Each step back costs several runs. So once some sketch has failed again, go back only a
        // few steps.
        if (best.failed > 0 && i + steps_back_max < s->kept_count - 1)
            break;
        c = ask_again(s, &s->kept[i], times);
        // Only a sketch that had all its tries can take the place of a smaller one. The smallest
        // (chosen from the start) counts in any case.
        if (c.asked == times && c.failed > best.failed)
            chosen = i;
        if (chosen == i)
            best = c;
        if (s->stopped || best.failed == times)
            break;
    }
    // If none failed again, the one failure of the smallest during the search counts, too.
    if (best.asked > 0 && best.failed == 0)
        best = (struct confirmation){.asked = best.asked + 1, .failed = 1};
    // The chosen sketch becomes the last one, which is what search_best returns.
    while (s->kept_count > chosen + 1)
        sketch_fini(&s->kept[--s->kept_count]);
    return best;
}
