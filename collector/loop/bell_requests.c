#include "loop/bell_requests.h"

#include "loop/work.h"

static bool take_bell(struct collector *c, struct err *e)
{
    c->bell.step = BELL_ASKED;
    return queue_send_bell(&c->queue, &c->link.session, work_deadline_ns(c), e);
}

bool bell_request_take(struct collector *c, struct err *e)
{
    if (bell_should_ask(&c->bell, c->now_ns))
        return queue_send_silent(&c->link.session, c->bell.silent_below, work_deadline_ns(c), e);
    return c->bell.step != BELL_WANTED || !queue_has_bell(&c->queue) || take_bell(c, e);
}

bool bell_request_let_go(struct collector *c, struct err *e)
{
    enum bell_step step = c->bell.step;

    if (step == BELL_ASKED) // only after the answer is it known whether there is a bell to let go
        return true;
    c->bell = (struct bell){.step = BELL_LET_GO};
    if (step != BELL_OURS)
        return true;
    window_all_announced(&c->window, c->now_ns);
    return queue_send_bell_let_go(&c->queue, &c->link.session, work_deadline_ns(c), e);
}

bool bell_request_let_go_if_fast(struct collector *c, struct err *e)
{
    struct bell *b = &c->bell;
    int64_t look_at_ns = CLOCK_NEVER; // tokens come slowly, or there is no bell

    if (b->step == BELL_ASKED) // it is not known yet whether the bell is ours
        return true;
    if (queue_has_bell(&c->queue))
        look_at_ns = window_look_ns(&c->window, b->step == BELL_LET_GO, c->now_ns);
    if (look_at_ns != CLOCK_NEVER) {
        if (!bell_request_let_go(c, e))
            return false;
        b->look_at_ns = look_at_ns;
    } else if (b->step == BELL_LET_GO || !queue_has_bell(&c->queue)) {
        // Tokens come slowly, and are to be announced again. With a bell one more look is due, at
        // once, after which the bell is taken; without one no look is planned.
        b->look_at_ns = 0;
    }
    return true;
}

bool bell_request_polls(const struct collector *c)
{
    return c->bell.step == BELL_LET_GO && c->bell.look_at_ns > 0;
}

// A look that was planned is made even if producers have ceased to use a bell since.
int64_t bell_request_due_ns(const struct collector *c)
{
    return queue_has_bell(&c->queue) || c->bell.look_at_ns > 0 ? bell_due_ns(&c->bell)
                                                               : CLOCK_NEVER;
}

bool bell_request_on_bell(struct collector *c, const PGresult *result, struct err *e)
{
    uint64_t silent_below;

    assert(c->bell.step == BELL_ASKED);
    if (!queue_decode_bell(result, &silent_below, e))
        return false;
    bell_answered(&c->bell, silent_below, c->now_ns);
    return true;
}

bool bell_request_on_silent(struct collector *c, const PGresult *result, struct err *e)
{
    bool silent;

    if (!queue_decode_silent(result, &silent, e))
        return false;
    if (!silent)
        bell_none_silent(&c->bell);
    return true;
}

bool bell_request_take_for_others(struct collector *c, struct err *e)
{
    struct bell *b = &c->bell;

    if (c->queue.policy->exclusive || !queue_has_bell(&c->queue))
        return true;
    // Somebody else had the bell; the next try comes at look_at_ns.
    if (b->step == BELL_WANTED && c->now_ns < b->look_at_ns) {
        work_wake_at(c, b->look_at_ns);
        return true;
    }
    return b->step == BELL_OURS || b->step == BELL_ASKED || take_bell(c, e);
}
