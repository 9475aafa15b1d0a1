// Makes candidates for the search. Each takes something away from the best sketch so far. One that
// still fails, as the search wants it, is then the best.
//
// Shorter loads are tried first, beginning with the shortest: they cost the least time, and make
// all later runs shorter. Three parts of the load are tried: first the time around the first fault,
// because a failure mostly needs a fault and the load beside it, then the beginning and the end.
// Faults are taken away by delta debugging (Zeller's ddmin), which finds a minimal set in a number
// of runs that is quadratic at worst and mostly near linear. Everything else is halved or left out,
// one thing at a time.
#include "shrink/search.h"

static const int64_t shortest_ns = 200 * NS_PER_MS; // shortest load that is tried
static const int halvings_max = 10;                 // most times that the rates are halved

static struct sketch copy_best(const struct search *s)
{
    return sketch_copy(search_best(s), s->whole);
}

// --- a shorter load: parts of it, then without whole phases -----------------------------

// Tries a part of the remaining load: length_ns of it, beginning at from_ns or as near to that as
// there is room. True when this part fails.
static bool try_window(struct search *s, int64_t from_ns, int64_t length_ns)
{
    int64_t load_ns = sketch_load_ns(search_best(s), s->whole);
    struct sketch k = copy_best(s);

    length_ns = clock_min(length_ns, load_ns);
    from_ns = clock_min(from_ns, load_ns - length_ns);
    // Rounded down to whole ms, which is how a scenario's file gives times.
    from_ns = from_ns < 0 ? 0 : from_ns / NS_PER_MS * NS_PER_MS;
    sketch_cut(&k, s->whole, from_ns, from_ns + length_ns);
    return search_attempt(s, &k);
}

// Finds the times of the first and the last fault that are left; the plan has them in the order of
// time. False when no fault is left.
static bool fault_times(const struct search *s, int64_t *first_ns, int64_t *last_ns)
{
    const struct sketch *k = search_best(s);
    bool any = false;

    for (size_t i = 0; i < s->whole->plan->fault_count; i++) {
        if (!k->faults[i])
            continue;
        *last_ns = sketch_fault_ns(k, s->whole, i);
        if (!any)
            *first_ns = *last_ns;
        any = true;
    }
    return any;
}

// Tries three parts of this length: the time around the first fault, the beginning, and the end.
// True when one of them fails.
static bool try_length(struct search *s, int64_t length_ns)
{
    int64_t first_ns, last_ns;

    // Most of the part around the fault comes after it, because what a fault breaks shows later.
    return (fault_times(s, &first_ns, &last_ns) &&
               try_window(s, first_ns - length_ns / 4, length_ns)) ||
           try_window(s, 0, length_ns) ||
           // INT64_MAX: as near to the end as there is room.
           try_window(s, INT64_MAX, length_ns);
}

// Tries the time from the first to the last remaining fault, with a little time before and after.
// True when it fails.
static bool try_around_faults(struct search *s)
{
    static const int64_t margins_ns[] = {200 * NS_PER_MS, NS_PER_S};
    int64_t first_ns, last_ns;

    for (size_t i = 0; !s->stopped && i < sizeof margins_ns / sizeof *margins_ns; i++) {
        int64_t margin_ns = margins_ns[i];
        if (fault_times(s, &first_ns, &last_ns) &&
            try_window(s, first_ns - margin_ns, last_ns - first_ns + 2 * margin_ns))
            return true;
    }
    return false;
}

// Tries the shortest loads first, because they cost the least time and gain the most. When one
// fails, begins again from that shorter load.
bool search_shorten(struct search *s)
{
    static const double shares[] = {1.0 / 16, 1.0 / 8, 1.0 / 4, 1.0 / 2, 3.0 / 4};
    bool any = false, again;

    do {
        double load_ns = (double)sketch_load_ns(search_best(s), s->whole);
        again = false;
        for (size_t i = 0; !again && !s->stopped && i < sizeof shares / sizeof *shares; i++) {
            int64_t length_ns = (int64_t)(load_ns * shares[i]) / NS_PER_MS * NS_PER_MS;
            again = length_ns >= shortest_ns && try_length(s, length_ns);
        }
        any = any || again;
    } while (again);
    return try_around_faults(s) || any;
}

// Tries without each phase in turn.
bool search_drop_phases(struct search *s)
{
    bool any = false;

    for (size_t i = 0; !s->stopped && i < s->whole->scenario->load_count; i++) {
        const struct span *span = &search_best(s)->spans[i];
        int64_t length_ns = span->to_ns - span->from_ns;
        if (length_ns == 0 || sketch_load_ns(search_best(s), s->whole) - length_ns < shortest_ns)
            continue;
        struct sketch k = copy_best(s);
        k.spans[i] = (struct span){0};
        any = search_attempt(s, &k) || any;
    }
    return any;
}

// --- fewer faults: delta debugging ------------------------------------------------------

// Which faults a candidate keeps: those of one part, or those of all other parts.
enum fault_choice { KEEP_PART, KEEP_OTHERS };

// Divides the remaining faults into `parts` equal parts, and tries a candidate that keeps the part
// numbered `part` alone, or all others. True when the candidate fails.
static bool try_fault_part(struct search *s, size_t parts, size_t part, enum fault_choice keep)
{
    size_t count = sketch_fault_count(search_best(s), s->whole), n = 0;
    struct sketch k = copy_best(s);

    for (size_t i = 0; i < s->whole->plan->fault_count; i++) {
        if (!k.faults[i])
            continue;
        bool inside = n * parts / count == part;
        k.faults[i] = inside == (keep == KEEP_PART);
        n++;
    }
    return search_attempt(s, &k);
}

// Calls try_fault_part for each part, until a candidate fails. True when one has failed.
static bool try_parts(struct search *s, size_t parts, enum fault_choice keep)
{
    for (size_t i = 0; !s->stopped && i < parts; i++) {
        if (try_fault_part(s, parts, i, keep))
            return true;
    }
    return false;
}

// First tries without any fault. Then divides the faults into parts, and tries each part alone, and
// all parts but one. When none of these fails, tries smaller parts. Returns true when fewer faults
// are left than before.
bool search_drop_faults(struct search *s)
{
    size_t count = sketch_fault_count(search_best(s), s->whole), parts = 2;
    // All faults are one part here, so KEEP_OTHERS keeps none.
    bool any = count > 0 && try_fault_part(s, 1, 0, KEEP_OTHERS);

    while (!s->stopped && (count = sketch_fault_count(search_best(s), s->whole)) >= 2) {
        parts = parts > count ? count : parts;
        if (try_parts(s, parts, KEEP_PART)) {
            any = true;
            parts = 2;
        } else if (try_parts(s, parts, KEEP_OTHERS)) {
            any = true;
            parts = parts > 2 ? parts - 1 : 2; // one part is gone; keep the others as they are
        } else if (parts == count) {
            break;
        } else {
            parts *= 2;
        }
    }
    return any;
}

// --- less of everything else ------------------------------------------------------------

static bool is_phase_left(const struct search *s, size_t phase)
{
    const struct span *span = &search_best(s)->spans[phase];

    return span->to_ns > span->from_ns;
}

// Returns the special features (bits of enum plain) that the remaining load still has.
static unsigned features_left(const struct search *s)
{
    unsigned features = 0;

    for (size_t i = 0; i < s->whole->scenario->load_count; i++) {
        const struct load_phase *p = &s->whole->scenario->load[i];
        if (!is_phase_left(s, i))
            continue;
        features |= p->rollback > 0 ? PLAIN_ROLLBACK : 0;
        features |= p->hold_share > 0 ? PLAIN_HOLD_OPEN : 0;
        features |= p->ineligible > 0 ? PLAIN_INELIGIBLE : 0;
        features |= p->unsendable > 0 ? PLAIN_UNSENDABLE : 0;
        features |= p->recovery > 0 ? PLAIN_RECOVERY : 0;
        features |= p->names != NAMES_PLAIN ? PLAIN_NAMES : 0;
        features |= p->insert != INSERT_ROW ? PLAIN_INSERT : 0;
        features |= p->backlog > 0 ? PLAIN_BACKLOG : 0;
        double changes =
            p->consume + p->suspend + p->reactivate + p->expire + p->delete + p->email + p->login;
        features |= changes > 0 ? PLAIN_CHANGES : 0;
        features |= p->tokens_per_account > 1 ? PLAIN_ACCOUNTS : 0;
        features |= p->ids_from > 1 ? PLAIN_IDS : 0;
        features |= p->rows_to > 1 ? PLAIN_ROWS : 0;
    }
    return features & ~search_best(s)->plain;
}

// Tries without these features (bits of enum plain).
static bool try_plain(struct search *s, unsigned features)
{
    if (!features)
        return false;
    struct sketch k = copy_best(s);
    k.plain |= features;
    return search_attempt(s, &k);
}

// Takes away all special features at once, or else one by one as many as can go. True when any
// could go.
static bool try_plain_load(struct search *s)
{
    unsigned features = features_left(s);
    // Try all at once first, because mostly none of them matters, and this costs only one run.
    bool any = try_plain(s, features);

    for (unsigned bit = 1; bit <= PLAIN_ALL; bit <<= 1)
        any = try_plain(s, features & ~search_best(s)->plain & bit) || any;
    return any;
}

// True when some remaining phase has a rate, which closed loops and traces do not have.
static bool has_rate_left(const struct search *s)
{
    for (size_t i = 0; i < s->whole->scenario->load_count; i++) {
        const struct load_phase *p = &s->whole->scenario->load[i];
        if (is_phase_left(s, i) && !p->closed && p->arrivals != ARRIVALS_TRACE)
            return true;
    }
    return false;
}

// Tries rates that are halved `halvings` more times.
static bool try_slower(struct search *s, int halvings)
{
    if (!has_rate_left(s) || search_best(s)->halvings + halvings > halvings_max)
        return false;
    struct sketch k = copy_best(s);
    k.halvings += halvings;
    return search_attempt(s, &k);
}

// Tries fewer instances and connections; 0: as many as before.
static bool try_fewer(struct search *s, int instances, int connections)
{
    struct sketch k = copy_best(s);

    k.instances = instances ? instances : k.instances;
    k.connections = connections ? connections : k.connections;
    return search_attempt(s, &k);
}

// Tries one instance or else half of them, the same with connections, then without special
// features, and an eighth of the rates or else half. True when any of this fails.
bool search_reduce(struct search *s)
{
    bool any = try_fewer(s, 1, 0) || try_fewer(s, (search_best(s)->instances + 1) / 2, 0);

    any = try_fewer(s, 0, 1) || try_fewer(s, 0, (search_best(s)->connections + 1) / 2) || any;
    any = try_plain_load(s) || any;
    return try_slower(s, 3) || try_slower(s, 1) || any;
}
