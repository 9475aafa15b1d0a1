// A holder can be lost in two ways, so there are two waits. A holder whose session has ended has
// left the queue's lock free: others wait for the grace. A holder that hangs keeps the lock, which
// nobody can take from it: others wait for its lease, and then claim the next epoch, which has
// another lock (peers.c). We time both waits by our own clock, from when we first saw that state. A
// time that the holder wrote down would be worth nothing after an outage or a change of the clock.
#include "loop/turn.h"

#include <poll.h>
#include <sysexits.h>

#include "base/log.h"
#include "loop/collect.h"
#include "loop/work.h"
#include "queue/queue_lines.h"

#define POLL_NS (100 * NS_PER_MS) // the pause between two tries to claim the queue
#define WATCH_NS NS_PER_S         // looks that are further apart do not count as watching
#define SOON_NS (10 * NS_PER_MS)  // the pause while no holder has to be waited for

void turn_reset(struct collector *c)
{
    c->turn = (struct turn){
        .free_since_ns = CLOCK_NEVER, .idle_since_ns = CLOCK_NEVER, .logged = c->turn.logged};
}

// True when the last holder cannot come back: it was an earlier session of this process, or its
// process is dead.
static bool abandoned(const struct collector *c)
{
    return strcmp(c->queue.seen.holder, c->queue.self) == 0 || holder_is_dead(c->queue.seen.holder);
}

enum turn_claim turn_claim(const struct collector *c)
{
    const struct turn *t = &c->turn;

    if (t->free_since_ns != CLOCK_NEVER &&
        (c->now_ns - t->free_since_ns >= c->config->grace_ms * NS_PER_MS ||
            holder_is_dead(c->queue.seen.holder)))
        return CLAIM_GRACE;
    // If our last look is older, we may have been stopped together with the holder, and its time
    // does not count as a lease that ran out.
    if (c->now_ns - t->looked_ns > WATCH_NS)
        return CLAIM_FROM_NOBODY;
    if (t->idle_since_ns != CLOCK_NEVER && c->now_ns - t->idle_since_ns >= work_lease_ns(c->config))
        return CLAIM_LEASE;
    return CLAIM_FROM_NOBODY;
}

bool turn_stand_by(struct collector *c, enum state *next, struct err *e)
{
    struct turn *t = &c->turn;

    if (t->step == TURN_OURS) {
        *next = SERVE;
        return true;
    }
    if (t->step == TURN_ASKED)
        return true; // peers_on_join goes on when the answer comes
    if (c->now_ns < t->look_at_ns) {
        work_wake_at(c, t->look_at_ns);
        return true;
    }
    t->step = TURN_ASKED;
    t->claimed = turn_claim(c) != CLAIM_FROM_NOBODY;
    return peers_join(c, false, e); // the answer tells whether a new cursor is needed first
}

void turn_watch(struct collector *c, bool free, const struct seen *seen)
{
    struct turn *t = &c->turn;
    struct seen before = c->queue.seen;

    c->queue.seen = *seen;
    t->step = TURN_WATCH;
    // Each holder gets a grace of its own, so the grace begins anew when the name changes.
    if (!free)
        t->free_since_ns = CLOCK_NEVER;
    else if (t->free_since_ns == CLOCK_NEVER || strcmp(before.holder, seen->holder) != 0)
        t->free_since_ns = c->now_ns;
    // The holder counts as hanging only while tokens wait. If we did not watch for longer than
    // WATCH_NS, we may have been stopped together with it, so the time begins anew.
    if (free || !seen->waits)
        t->idle_since_ns = CLOCK_NEVER;
    else if (t->idle_since_ns == CLOCK_NEVER || before.progress != seen->progress ||
             c->now_ns - t->looked_ns > WATCH_NS)
        t->idle_since_ns = c->now_ns;
    t->looked_ns = c->now_ns;
    bool over = turn_claim(c) != CLAIM_FROM_NOBODY; // the grace or the lease of this holder is over
    if (over && !t->claimed) {
        t->look_at_ns = c->now_ns; // it has ended since our last try, so we try at once
    } else if (over || !c->queue.policy->exclusive || abandoned(c)) {
        // Nobody has to be waited for. Only a backend that has lost its client can block us, or an
        // administrator's command. Both end soon, so we look again soon.
        t->look_at_ns = c->now_ns + SOON_NS;
    } else {
        t->look_at_ns = c->now_ns + POLL_NS;
        if (!t->logged) {
            log_line("QUEUE", "standing by: another session has the queue");
            window_stood_by(&c->window);
        }
        t->logged = true;
    }
}

void turn_begin(struct collector *c)
{
    struct queue *q = &c->queue;

    c->turn.step = TURN_OURS;
    c->turn.logged = false;
    // After an error that a person has to mend, the same statement may fail again in this session.
    // So the pauses stay long.
    if (c->link.loss != LOSS_COMPLAINT)
        backoff_reset(&c->link.backoff);
    if (q->policy->exclusive)
        log_line("QUEUE", "collecting '%s', epoch %" PRId64, q->name, q->epoch);
    else
        log_line("QUEUE", "collecting '%s' in %s mode, as %s", q->name, q->policy->name, q->number);
}

// Gives up the turn only if everything is settled. Otherwise the others wait for the grace, within
// which the last line may still be settled.
void turn_leave(struct collector *c)
{
    struct err ignored; // if leaving fails, others wait for the grace

    err_clear(&ignored);
    if (c->turn.step != TURN_OURS || collect_unsettled(c))
        return;
    // An exit code other than 0 may mean that tokens are in doubt, although no line is out.
    if (c->queue.policy->exclusive && c->ending.exit != EX_OK)
        return;
    if (!queue_send_peers(&c->queue, &c->link.session,
            &(struct peers_request){.leave = "stopped", .answered = c->sender.answered},
            work_deadline_ns(c), &ignored))
        return;
    // If we closed the session now, the server might fail to send us an answer; then it would end
    // the session, and drop the requests that it has not carried out yet. So we await the answers,
    // but not for long.
    struct session *s = &c->link.session;
    int64_t now_ns = clock_boot_ns(), end_ns = now_ns + LEAVE_NS;
    while (s->count > 0 && now_ns < end_ns && session_pump(s, now_ns, &ignored)) {
        struct session_reply reply;
        while (session_take(s, &reply))
            PQclear(reply.result);
        struct pollfd p = {.fd = session_fd(s), .events = session_events(s)};
        if (s->count > 0)
            poll(&p, 1, clock_poll_ms(now_ns, end_ns));
        now_ns = clock_boot_ns();
    }
}
