#include "lease/fill.h"

#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"

// The announcement of a token that is already taken may come this much later. After that the same
// id means another token, because a table may have been truncated and its ids begin again.
#define TAKEN_NS NS_PER_S

// An announcement may come this long after a look that shows its token.
#define SETTLE_NS (25 * NS_PER_MS)

bool fill_init(struct fill *f, int limit, int64_t timeout_ns, struct err *e)
{
    size_t size = 1024;

    while (size < 4 * (size_t)limit)
        size *= 2;
    *f = (struct fill){.limit = limit,
        .timeout_ns = timeout_ns,
        .heard_ns = CLOCK_NEVER,
        .look_at_ns = CLOCK_NEVER,
        .mask = size - 1};
    f->announced = calloc((size_t)limit, sizeof *f->announced);
    f->memory = calloc(size, sizeof *f->memory);
    return (f->announced && f->memory) || err_memory_for(e, "a window of %d tokens", limit);
}

void fill_fini(struct fill *f)
{
    free(f->announced);
    free(f->memory);
    *f = (struct fill){0};
}

void fill_restart(struct fill *f, int64_t now_ns)
{
    f->count = 0;
    f->after_look = 0;
    f->known = 1;
    f->unsure = false;
    f->heard_ns = CLOCK_NEVER;
    f->unheard = f->limit;
    f->unheard_ns = f->complete_ns = now_ns - f->timeout_ns;
    f->look_at_ns = now_ns;
}

// Returns what is remembered of this token; NULL: nothing.
static struct fill_entry *recall(const struct fill *f, int64_t id)
{
    struct fill_entry *entry = &f->memory[(size_t)id & f->mask];

    return id != 0 && entry->id == id ? entry : NULL;
}

static void remember(struct fill *f, struct fill_entry entry)
{
    f->memory[(size_t)entry.id & f->mask] = entry;
}

void fill_announced(struct fill *f, int64_t id, int64_t now_ns)
{
    struct fill_entry entry = {.id = id, .at_ns = now_ns};
    const struct fill_entry *known = recall(f, id);

    pace_arrived(&f->pace, now_ns);
    if (known && known->taken && now_ns - known->at_ns < TAKEN_NS)
        return;
    remember(f, entry);
    f->announced[f->count++ % (uint64_t)f->limit] = entry;
    f->after_look++;
    f->known++;
    f->heard_ns = clock_min(f->heard_ns, now_ns);
    if (f->unheard > 0)
        f->unheard--;
}

void fill_due(struct fill *f, int64_t at_ns)
{
    f->look_at_ns = clock_min(f->look_at_ns, at_ns);
}

// Returns when the first of the tokens that wait has waited long enough.
static int64_t due_ns(const struct fill *f)
{
    int64_t first_ns = f->unheard > 0 ? clock_min(f->unheard_ns, f->heard_ns) : f->heard_ns;

    assert(f->known > 0 && first_ns != CLOCK_NEVER);
    return pace_due_ns(&f->pace, first_ns, f->timeout_ns);
}

int64_t fill_look_ns(const struct fill *f)
{
    if (f->known >= f->limit)
        return 0;
    if (f->known == 0)
        return f->look_at_ns;
    return clock_min(f->look_at_ns, due_ns(f));
}

int fill_fewest(const struct fill *f, int64_t now_ns)
{
    bool due = f->known > 0 && !f->unsure && now_ns >= due_ns(f);

    return due ? 1 : f->limit;
}

void fill_looking(struct fill *f, int64_t now_ns)
{
    f->after_look = 0;
    f->looking_ns = now_ns;
    if (f->look_at_ns <= now_ns)
        f->look_at_ns = CLOCK_NEVER;
}

static bool was_taken(const struct fill *f, int64_t id)
{
    const struct fill_entry *entry = recall(f, id);

    return entry && entry->taken;
}

// Finds the announcements of the tokens that wait: the last k from before the last look, and all
// that came after it. Returns how many there are, and when the first of them came.
static int find_announced(const struct fill *f, int k, int64_t *first_ns)
{
    uint64_t kept = f->count < (uint64_t)f->limit ? f->count : (uint64_t)f->limit;
    int before = 0, after = 0;

    *first_ns = CLOCK_NEVER;
    for (uint64_t i = 1; i <= kept && before < k; i++) {
        const struct fill_entry *entry = &f->announced[(f->count - i) % (uint64_t)f->limit];
        if (was_taken(f, entry->id))
            continue;
        if (entry->at_ns <= f->complete_ns)
            break;
        before += entry->at_ns <= f->looking_ns;
        after += entry->at_ns > f->looking_ns;
        *first_ns = entry->at_ns;
    }
    return before + after;
}

// Estimates since when tokens wait. The look left `waiting` of them; when it left none, only those
// wait that were announced while it was under way.
static void estimate(struct fill *f, int waiting, int64_t now_ns)
{
    int64_t young_ns = now_ns + clock_min(SETTLE_NS, f->timeout_ns) - f->timeout_ns;
    int k = waiting > 0 ? waiting : f->after_look;
    int heard = find_announced(f, k, &f->heard_ns);

    if (f->unheard == 0)
        f->unheard_ns = f->complete_ns > young_ns ? f->complete_ns : young_ns;
    f->unheard = heard < k ? k - heard : 0;
    f->known = waiting + f->after_look;
}

void fill_token(struct fill *f, int64_t id, int64_t now_ns)
{
    const struct fill_entry *entry = recall(f, id);

    if (entry && !entry->taken && entry->at_ns > f->looking_ns && f->after_look > 0)
        f->after_look--;
    remember(f, (struct fill_entry){.id = id, .at_ns = now_ns, .taken = true});
}

// After a full line the next look comes at once, and takes only another full line. Only that look
// shows how many tokens are left and since when they wait.
void fill_took(struct fill *f, bool more, int64_t now_ns)
{
    f->unsure = more;
    f->unheard = 0;
    if (more) {
        f->known = f->limit;
        f->heard_ns = f->looking_ns;
        return;
    }
    f->complete_ns = f->looking_ns;
    estimate(f, 0, now_ns);
}

void fill_left(struct fill *f, int waiting, int64_t now_ns)
{
    f->unsure = false;
    if (waiting == 0)
        f->complete_ns = f->looking_ns;
    estimate(f, waiting, now_ns);
}
