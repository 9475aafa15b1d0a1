#include "lease/due.h"

#include "base/clock.h"

#define MARGIN_MS 10000        // a token may be committed this long after it came due
#define ALL_NS (30 * NS_PER_S) // the pause between two looks at everything

void due_restart(struct due *d)
{
    *d = (struct due){.complete_ns = CLOCK_NEVER};
}

int64_t due_since_ms(struct due *d, int64_t now_ns)
{
    d->all = d->complete_ns == CLOCK_NEVER || now_ns >= d->all_at_ns;
    return d->all ? -1 : (now_ns - d->complete_ns) / NS_PER_MS + MARGIN_MS;
}

void due_looked(struct due *d, bool emptied, int64_t sent_ns)
{
    // A look that found too few for a line leaves them, and does not count: the next one must find
    // them again.
    if (!emptied)
        return;
    d->complete_ns = sent_ns;
    if (d->all)
        d->all_at_ns = sent_ns + ALL_NS;
}
