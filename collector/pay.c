#include "pay.h"

#include <assert.h>
#include <inttypes.h>

#include "base/log.h"
#include "deliver.h"
#include "fetch.h"
#include "queue_batches.h"
#include "work.h"

// Sleeps until there is budget again. Gives back what was taken: meanwhile tokens may expire, and
// others may have budget for them first.
static bool rest(struct collector *c, enum state *next, struct err *e)
{
    fetch_drop(c);
    *next = WAIT;
    return !(c->left.ours || c->fetch.stock.left > 0) || ask_give_back(c, e);
}

bool pay_pay(struct collector *c, enum state *next, struct err *e)
{
    const struct batch *b = &c->fetch.next;
    int held = budget_held(&c->budget, c->now_ns);

    assert(c->fetch.next_step == NEXT_READY && b->sendable > 0);
    if (session_awaits(&c->link.session, QUEUE_SPEND))
        return true;
    if (!output_ready(&c->deliver->output)) { // nothing is paid while the reader is stopped
        fetch_drop(c);
        *next = STALL;
        return true;
    }
    if (c->now_ns < c->fetch.retry_at_ns) {
        work_wake_at(c, c->fetch.retry_at_ns);
        return true;
    }
    if (held < b->sendable && c->now_ns >= c->budget.spent_until_ns) {
        budget_asked(&c->budget, c->now_ns);
        return queue_send_spend(
            &c->queue, &c->link.session, b->sendable - held, work_deadline_ns(c), e);
    }
    if (held == 0)
        return rest(c, next, e);
    if (held < b->sendable)
        fetch_cut(c, held);
    if (queue_takes(&c->queue) && b->source == BATCH_CURSOR) {
        *next = FETCH;
        return fetch_take(c, e);
    }
    *next = WRITE;
    return true;
}

bool pay_on_spend(struct collector *c, const PGresult *result, struct err *e)
{
    int granted;
    int64_t wait_ms;

    if (!queue_decode_spend(result, &granted, &wait_ms, e))
        return ask_retry(c, e);
    if (granted == 0)
        log_line("QUEUE", "the budget is spent for %" PRId64 " ms", wait_ms);
    budget_answered(&c->budget, granted, wait_ms, c->now_ns);
    return true;
}
