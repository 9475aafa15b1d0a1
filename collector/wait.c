#include "wait.h"

#include <assert.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "deliver.h"
#include "ring.h"
#include "work.h"

// Returns memory to the system: after a large batch the C library keeps megabytes, for which an
// idle collector has no use.
static void give_back_memory(struct collector *c)
{
    if (!c->fetch.large)
        return;
    c->fetch.large = false;
    batch_fini(&c->fetch.next);
    batch_init(&c->fetch.next, c->queue.limit);
    deliver_give_back_memory(c);
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

bool wait_wait(struct collector *c, enum state *next, struct err *e)
{
    struct session *s = &c->link.session;
    int64_t check_ns = s->silence_ns + c->config->healthcheck_interval_ms * NS_PER_MS;
    int64_t first_ns = window_due_ns(&c->window), due_ns = first_ns;

    assert(c->fetch.asked == ASK_NOTHING && c->fetch.next_step == NEXT_EMPTY);
    // Announcements may just have become frequent. A look that is planned already stays planned.
    if (!ring_rests(c) && !ring_let_go_if_fast(c, e))
        return false;
    // Nothing announces the death of a collector that has something in hand, so we look for it.
    if (!c->queue.policy->exclusive && owners_matter(&c->left.others))
        due_ns = clock_min(due_ns, c->left.look_at_ns);
    due_ns = clock_min(due_ns, ring_due_ns(c));
    if (c->budget.spent_until_ns > 0) // nothing can go out before, and what waits goes out then
        due_ns = c->budget.spent_until_ns;
    if (c->now_ns >= check_ns) {
        c->left.look_at_ns = 0; // nobody announces tokens that are tried once more by hand
        *next = FETCH;
        return queue_send_check(&c->queue, s, work_deadline_ns(c), e);
    }
    if (c->now_ns >= due_ns) {
        c->budget.spent_until_ns = 0;
        *next = FETCH;
        return true;
    }
    if (first_ns == CLOCK_NEVER && !ring_rests(c) && c->budget.spent_until_ns == 0)
        give_back_memory(c);
    else if (!turn_renew(c, e))
        return false;
    work_wake_at(c, clock_min(check_ns, due_ns));
    return true;
}
