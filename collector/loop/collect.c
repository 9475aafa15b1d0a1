// The state serve looks at these things, in this order: lines that are too old to begin, what can
// be settled, what should be given back, the next take, the other collectors, the health of the
// session, the bell. For each it sends what is due, and leaves the rest to a later round; none
// waits for another.
//
// The end depends on the mode. Where lines are not answered, a line that was begun is finished and
// settled. Where lines are answered, the answers to lines that are out are awaited for a while;
// then the child is ended before its tokens are given back, so that no other sender gets a token
// that ours might still send.
#include "loop/collect.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "loop/answers.h"
#include "loop/peers.h"
#include "loop/bell_requests.h"
#include "loop/settle.h"
#include "loop/take.h"
#include "loop/work.h"

#define REMEMBERED 16 // at least so many lines that are over stay known, for late answers

bool collect_init(struct collector *c, int output_fd, char *const command[], struct err *e)
{
    const struct policy *p = c->queue.policy;
    int out = p->in_flight > 0 ? p->in_flight : (int)c->config->leased.in_flight;

    settle_init(c);
    // There is room for `out` lines that are out, those that are taken, and those that are over.
    return lines_init(
               &c->lines, out + TAKE_LINES + (p->answers ? REMEMBERED : 0), c->queue.limit, e) &&
           sender_init(c, output_fd, command, e);
}

void collect_fini(struct collector *c)
{
    sender_fini(c);
    settle_fini(c);
    lines_fini(&c->lines);
}

// --- the loop -----------------------------------------------------------------------

// While the reader takes nothing, gives back what was taken and not begun, once it is old: its
// tokens may expire meanwhile, and the readers of other collectors may take them.
static bool give_back_if_old(struct collector *c, struct err *e)
{
    const struct line *first = lines_first(&c->lines, LINE_TAKEN);

    // A collector that works alone keeps its lines: nobody else would take them, and their order
    // must stay.
    if (c->queue.policy->exclusive || output_ready(&c->sender.output) ||
        (!first && c->lines.reread_count == 0))
        return true;
    // Rows that are to be taken again (rereads) have waited already, so without a newer line they
    // go at once.
    if (first && c->now_ns - first->asked_ns <= take_stale_ns(c)) {
        work_wake_at(c, first->asked_ns + take_stale_ns(c) + 1);
        return true;
    }
    return settle_give_back(c, e);
}

// Frees the memory that a large answer has needed, if there was one. Call it when nothing waits and
// nothing is in hand.
static void give_back_memory(struct collector *c)
{
    if (!c->take.large_answer)
        return;
    c->take.large_answer = false;
    lines_give_back_memory(&c->lines);
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

// Sends the health check when the server was silent for the interval. Its answer, or its deadline,
// tells whether the session still works.
static bool check_health(struct collector *c, struct err *e)
{
    struct session *s = &c->link.session;
    int64_t check_ns = s->heard_ns + c->config->healthcheck_interval_ms * NS_PER_MS;

    // The session's deadline wakes us when no answer comes.
    if (session_awaits(s, QUEUE_CHECK))
        return true;
    if (c->now_ns < check_ns) {
        work_wake_at(c, check_ns);
        return true;
    }
    take_look_at_all(c);     // nobody announces what a person gives to mailroom_retry
    c->peers.look_at_ns = 0; // at once
    return queue_send_check(&c->queue, s, work_deadline_ns(c), e);
}

bool collect_serve(struct collector *c, enum state *next, struct err *e)
{
    bool sent;

    (void)next; // only a lost session ends this state
    if (!take_drop_old(c, e) || !settle_step(c, e) || !give_back_if_old(c, e) ||
        !take_step(c, NULL, &sent, e) || !peers_step(c, e) || !check_health(c, e))
        return false;
    // While the reader takes nothing we do not look, but other collectors that sleep need
    // announcements.
    if (c->ending.step == RUNNING && !output_ready(&c->sender.output))
        return bell_request_take_for_others(c, e);
    if (lines_in(&c->lines, LINE_FREE) == c->lines.count &&
        window_due_ns(&c->window) == CLOCK_NEVER && !sent)
        give_back_memory(c);
    return true;
}

bool collect_reader(struct collector *c, struct err *e)
{
    return sender_serve(c, e) && answers_time_out(c, e) && sender_step(c, e);
}

void collect_lose(struct collector *c)
{
    struct line *line;

    // The database keeps the rows of lines that we have not begun to write. Our next session reads
    // them again, unless another collector has adopted them by then.
    while ((line = lines_first(&c->lines, LINE_TAKEN)))
        lines_drop(line);
    settle_failed(c); // the answer to a request under way will not come
    settle_restart(c);
    outbox_lost(&c->settle.outbox);
}

bool collect_unsettled(const struct collector *c)
{
    return !c->queue.policy->answers && (settle_pending(c) || lines_in(&c->lines, LINE_OUT) > 0);
}

// --- the end ------------------------------------------------------------------------

// Undoes the beginning of the line that is being written, if no byte of it is written yet.
static void cancel_line(struct collector *c)
{
    struct line *line = c->sender.writing;

    if (!line || c->sender.output.done > 0)
        return;
    output_forget(&c->sender.output);
    line->state = LINE_TAKEN;
    c->sender.writing = NULL;
    c->sender.last_number--;
    line->number = 0;
}

// Gives back the unanswered tokens once no answer is awaited any more. It ends our child first, so
// that no other collector gets a token that the child might still send.
static bool return_all(struct collector *c, struct err *e)
{
    struct sender *s = &c->sender;

    if (s->child.pid > 0 && !sender_lost(c, e))
        return false;
    if (!answers_give_back(c, false, "the collector stopped", e))
        return false;
    s->in = -1;
    sender_drop_output(c);
    s->state = SENDER_ENDED;
    c->ending.step = LEAVING;
    c->ending.at_ns = c->now_ns + LEAVE_NS;
    return true;
}

bool collect_end(struct collector *c, bool *done, struct err *e)
{
    struct ending *end = &c->ending;

    *done = false;
    // Without answers there is nothing to give back one by one: turn_leave frees what was taken.
    if (!c->queue.policy->answers) {
        cancel_line(c);
        *done = !collect_unsettled(c) && c->doubt.n == 0;
        return true;
    }
    // As long as there is a sender, and time is left, it may still answer the lines that are out.
    if (end->step == STOPPING) {
        cancel_line(c);
        if (lines_in(&c->lines, LINE_OUT) == 0 || c->now_ns >= end->at_ns ||
            c->sender.state == SENDER_ENDED)
            end->step = RETURNING;
    }
    if (end->step == RETURNING && !return_all(c, e))
        return false;
    // The database has to record what we gave back, or others free it only after the grace. If a
    // session was lost, the answer to the question of doubt may name more rows of ours. There may
    // be no session at all, so we try for LEAVE_NS only.
    if (end->step == LEAVING)
        *done =
            c->now_ns >= end->at_ns || (c->state == SERVE && c->in_doubt.step == DOUBT_ANSWERED &&
                                           outbox_left(&c->settle.outbox) == 0);
    return true;
}

// --- what the loop asks ---------------------------------------------------------------

// Polls the output for room while a line is being written, and while the output has no room for
// one. Where lines are not answered, it also polls for the end of the reader; but not while a line
// is unsettled or a token in doubt, because these are dealt with first.
struct pollfd collect_poll_output(const struct collector *c)
{
    const struct output *o = &c->sender.output;
    bool wants = c->sender.writing || !output_ready(o);
    bool watch = wants || !(c->queue.policy->answers || settle_pending(c) || c->doubt.n > 0);

    return (struct pollfd){
        .fd = watch && c->sender.state == SENDER_HERE ? o->fd : -1, .events = wants ? POLLOUT : 0};
}

void collect_count(struct collector *c)
{
    double *of = c->metrics->meters.of;
    const struct line *oldest = lines_first(&c->lines, LINE_OUT);

    if (!c->queue.policy->answers)
        return;
    of[METER_LINES_UNANSWERED] = lines_in(&c->lines, LINE_OUT);
    of[METER_ANSWER_AWAITED] = oldest ? (double)(c->now_ns - oldest->out_ns) / (double)NS_PER_S : 0;
}
