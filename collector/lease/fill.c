#include "lease/fill.h"

#include <stdlib.h>

#include "base/clock.h"

bool fill_init(struct fill *f, int limit, int64_t timeout_ns, struct err *e)
{
    *f = (struct fill){.limit = limit, .timeout_ns = timeout_ns, .look_at_ns = CLOCK_NEVER};
    f->announced = calloc((size_t)limit, sizeof *f->announced);
    return f->announced || err_set(e, ERR_SYSTEM, "no memory for a window of %d tokens", limit);
}

void fill_fini(struct fill *f)
{
    free(f->announced);
    *f = (struct fill){0};
}

void fill_restart(struct fill *f, int64_t now_ns)
{
    f->count = 0;
    f->after_look = 0;
    f->known = 1;
    f->first_ns = now_ns - f->timeout_ns;
    f->complete_ns = f->first_ns;
    f->look_at_ns = now_ns;
}

void fill_announced(struct fill *f, int64_t now_ns)
{
    pace_arrived(&f->pace, now_ns);
    f->announced[f->count++ % (uint64_t)f->limit] = now_ns;
    f->after_look++;
    if (f->known++ == 0)
        f->first_ns = now_ns;
}

void fill_due(struct fill *f, int64_t at_ns)
{
    f->look_at_ns = clock_min(f->look_at_ns, at_ns);
}

int64_t fill_look_ns(const struct fill *f)
{
    if (f->known >= f->limit)
        return 0;
    if (f->known == 0)
        return f->look_at_ns;
    return clock_min(f->look_at_ns, pace_due_ns(&f->pace, f->first_ns, f->timeout_ns));
}

int fill_fewest(const struct fill *f, int64_t now_ns)
{
    bool due = f->known > 0 && now_ns >= pace_due_ns(&f->pace, f->first_ns, f->timeout_ns);

    return due ? 1 : f->limit;
}

void fill_looking(struct fill *f, int64_t now_ns)
{
    f->after_look = 0;
    f->looking_ns = now_ns;
    if (f->look_at_ns <= now_ns)
        f->look_at_ns = CLOCK_NEVER;
}

// Since when the last k that were announced wait. One whose announcement was
// not heard came after the last look that left nothing.
static int64_t since_ns(const struct fill *f, int k)
{
    if ((uint64_t)k > f->count || k > f->limit)
        return f->complete_ns;
    return f->announced[(f->count - (uint64_t)k) % (uint64_t)f->limit];
}

static void expect(struct fill *f, int known)
{
    f->known = known;
    if (known > 0)
        f->first_ns = since_ns(f, known);
}

// The line may hold tokens that were announced meanwhile, or not. The next look tells; after a
// full line it comes at once, and takes only another full one: how many are left, and since when
// they wait, is not known before.
void fill_took(struct fill *f, bool more)
{
    if (!more)
        f->complete_ns = f->looking_ns;
    expect(f, more ? f->limit : f->after_look);
    if (more)
        f->first_ns = f->looking_ns;
}

void fill_left(struct fill *f, int waiting)
{
    if (waiting == 0)
        f->complete_ns = f->looking_ns;
    expect(f, waiting + f->after_look);
    if (waiting > 0)
        f->first_ns = since_ns(f, waiting);
}
