// A line goes out as bytes to the sender, and comes back as answers to its tokens. The sender is a
// child that we start, and start again when it ends; or a program that somebody else connected to
// our output and, with answers, to our input (the reader). We cannot start such a program again, so
// when it ends, we end.
#include "loop/sender.h"

#include <sysexits.h>

#include "base/log.h"
#include "loop/answers.h"
#include "loop/take.h"
#include "loop/work.h"
#include "process/random.h"

#define SENDER_CAP_NS (10 * NS_PER_S) // the longest pause before a sender is started again

void sender_drop_output(struct collector *c)
{
    c->sender.writing = NULL;
    // An output without a descriptor is never ready, so collect.c gives back what waits for it.
    c->sender.output = (struct output){.fd = -1};
}

bool sender_lost(struct collector *c, struct err *e)
{
    struct sender *s = &c->sender;
    char how[CHILD_HOW_LEN];
    bool stopped = work_stopping(c); // we asked it to end, so no token is to blame
    bool ended;
    int unanswered = 0;

    // The answers that the sender wrote before its end count. The pipe holds no more than
    // ANSWERS_MAX bytes of them.
    if (s->child.out >= 0 && !answers_read(c, ANSWERS_MAX, &ended, e))
        return false;
    for (int i = 0; i < c->lines.count; i++)
        unanswered += c->lines.all[i].state == LINE_OUT ? c->lines.all[i].left : 0;
    int code = child_end(&s->child, how);
    if (!answers_give_back(c, !stopped, stopped ? "the collector stopped" : "the sender ended", e))
        return false;
    sender_drop_output(c);
    lines_forget_numbers(&c->lines);
    buf_clear(&s->input);
    s->in = -1;
    s->last_number = 0;
    s->state = stopped ? SENDER_ENDED : SENDER_AWAY;
    s->start_at_ns = c->now_ns + backoff_next_ns(&s->backoff, SENDER_CAP_NS);
    log_line(
        "SENDER", "it ended %s; tokens without an answer, to be tried again: %d", how, unanswered);
    // A sender with wrong settings would end like this at each start, and mail would wait while
    // everything seems to work.
    if (code == EX_CONFIG && !stopped) {
        s->state = SENDER_ENDED;
        return err_set(e, ERR_USAGE,
            "the sender says by its exit code %d that its settings do not fit; its message stands "
            "above",
            code);
    }
    return true;
}

// Call it when standard input has ended: no sender answers any more, and we can start none. That is
// an error, unless we are stopping.
static bool reader_lost(struct collector *c, struct err *e)
{
    struct sender *s = &c->sender;

    s->state = SENDER_ENDED;
    s->in = -1;
    if (work_stopping(c))
        return true;
    return err_set(e, s->heard ? ERR_OUTPUT : ERR_USAGE, "%s",
        s->heard ? "standard input has ended: nobody answers any more"
                 : "standard input has ended before any answer: MAILROOM_DEQUEUE=leased needs a "
                   "sender that answers there, or one after '--'");
}

bool sender_serve(struct collector *c, struct err *e)
{
    struct sender *s = &c->sender;
    bool ended;

    if (s->in < 0)
        return true;
    int64_t before = s->answered;
    if (!answers_read(c, ANSWERS_ROUND, &ended, e))
        return false;
    if (s->answered > before)
        backoff_reset(&s->backoff);
    if (!ended)
        return true;
    return s->starts ? sender_lost(c, e) : reader_lost(c, e);
}

// Starts our child, which reads our lines and writes its answers to us.
static bool start_sender(struct collector *c, struct err *e)
{
    struct sender *s = &c->sender;

    if (!child_start(&s->child, e) || !output_init(&c->sender.output, s->child.in, e))
        return false;
    work_count(c, METER_SENDER_STARTS, 1);
    log_line("SENDER", "started as process %d", (int)s->child.pid);
    s->in = s->child.out;
    s->state = SENDER_HERE;
    return true;
}

// Makes dead letters of the tokens that the wire cannot carry, and removes them from the line's
// array. An answer names a token by its place among those that the sender got, so the array must
// have only these. Call it only where lines are answered.
static bool make_dead_letters(struct collector *c, struct line *line, struct err *e)
{
    int kept = 0;

    for (int i = 0; i < line->count; i++) {
        struct line_token *t = &line->tokens[i];
        if (!t->unsendable) {
            line->tokens[kept++] = *t;
            continue;
        }
        struct outbox_result r = answers_result(line, t, RESULT_DEAD, t->unsendable);
        work_count(c, METER_TOKENS_DEAD_LETTER, 1);
        if (!outbox_add(&c->settle.outbox, &r, e))
            return false;
    }
    line->count = kept;
    return true;
}

// True if this line may begin, as far as other lines and the state allow it; begin_line checks its
// age, and whether the output has room. Where lines are not answered, no byte of a line is written
// before the line before it is settled, so a lost session leaves at most one line in doubt. A
// suspected token (`alone`) goes out only while no other line is out: if the sender dies then, this
// token has killed it.
static bool may_begin(const struct collector *c, const struct line *line)
{
    int out = lines_in(&c->lines, LINE_OUT);

    if (c->state != SERVE || work_stopping(c) || c->in_doubt.step != DOUBT_ANSWERED)
        return false;
    if (!c->queue.policy->answers)
        return out == 0 && lines_in(&c->lines, LINE_WRITTEN) == 0;
    return out < (int)c->config->leased.in_flight && (out == 0 || !line->alone) &&
           !lines_alone_out(&c->lines);
}

// Begins the oldest line that was taken, if it may begin and the output has room, and sets
// `writing` to it. A line without a token to write counts as written at once or, where lines are
// answered, as over. False: an error.
static bool begin_line(struct collector *c, struct err *e)
{
    struct sender *s = &c->sender;
    struct line *line = lines_first(&c->lines, LINE_TAKEN);

    if (!line)
        return true;
    // Its text is made before the line may begin, so that it can then begin at once.
    if (line->answer && (!lines_build(line, &s->sign, e) ||
                            (c->queue.policy->answers && !make_dead_letters(c, line, e))))
        return false;
    if (!may_begin(c, line))
        return true;
    if (line->sendable == 0) { // no token of it is to be written
        line->state = c->queue.policy->answers ? LINE_OVER : LINE_WRITTEN;
        return true;
    }
    // The process may have been stopped since this round began, and signing took a while, so the
    // time is read again.
    c->now_ns = clock_boot_ns();
    if (c->now_ns - line->asked_ns > take_stale_ns(c))
        return take_drop_old(c, e);
    // Until the output has room, the line waits; when it is too old, it is read again.
    if (!output_ready(&c->sender.output)) {
        work_wake_at(c, line->asked_ns + take_stale_ns(c) + 1);
        return true;
    }
    assert(line->text.len > 0);
    line->state = LINE_OUT;
    line->out_ns = c->now_ns;
    line->number = ++s->last_number;
    s->writing = line;
    output_begin(&c->sender.output, line->text.data, line->text.len);
    return true;
}

// Counts the line that was being written, and its tokens, once all of it is written. Where lines
// are answered, it stays LINE_OUT until its answers come.
static void finish_line(struct collector *c)
{
    struct line *line = c->sender.writing;
    int64_t now_ns = clock_boot_ns();

    output_forget(&c->sender.output);
    metrics_line(c->metrics, (enum meter_id)line->reason, line->sendable);
    for (int i = 0; i < line->count; i++)
        if (!line->tokens[i].skipped)
            metrics_waited(c->metrics, line->tokens[i].since_ns, now_ns);
    c->sender.writing = NULL;
    if (!c->queue.policy->answers)
        line->state = LINE_WRITTEN;
}

bool sender_ready(const struct collector *c)
{
    return c->sender.state == SENDER_HERE && !c->sender.writing && output_ready(&c->sender.output);
}

bool sender_step(struct collector *c, struct err *e)
{
    struct sender *s = &c->sender;
    struct err broken;

    if (s->state == SENDER_AWAY && !work_stopping(c)) {
        if (c->now_ns < s->start_at_ns) {
            work_wake_at(c, s->start_at_ns);
            return true;
        }
        if (!start_sender(c, e))
            return false;
    }
    err_clear(&broken);
    while (s->state == SENDER_HERE) {
        if (!s->writing && !begin_line(c, e))
            return false;
        if (!s->writing)
            return true;
        // A child that has ended is started again. If we did not start the sender, we end, too.
        if (!output_pump(&c->sender.output, &broken)) {
            if (s->starts)
                return sender_lost(c, e);
            *e = broken;
            return false;
        }
        if (!output_idle(&c->sender.output))
            return true;
        finish_line(c);
    }
    return true;
}

bool sender_init(struct collector *c, int output_fd, char *const command[], struct err *e)
{
    const struct config *cfg = c->config;
    struct sender *s = &c->sender;
    uint64_t seeds[2];
    bool answers = c->queue.policy->answers;

    *s = (struct sender){.state = command ? SENDER_AWAY : SENDER_HERE,
        .starts = command != NULL,
        .output = {.fd = -1},
        .in = command || !answers ? -1 : STDIN_FILENO};
    child_init(&s->child);
    buf_init(&s->input, ANSWERS_MAX);
    // The seeds are random, so that collectors that were started together do not try again
    // together.
    if (!random_fill(seeds, sizeof seeds, e))
        return false;
    s->retry = (struct retry){.base_ms = cfg->leased.retry_base_ms,
        .max_ms = cfg->leased.retry_max_ms,
        .attempts = (int)cfg->leased.attempts,
        .random = seeds[0]};
    backoff_init(&s->backoff, seeds[1]);
    return sign_init(&s->sign, cfg->key, e) && (command || output_init(&s->output, output_fd, e));
}

void sender_fini(struct collector *c)
{
    char how[CHILD_HOW_LEN];

    child_end(&c->sender.child, how);
    sign_fini(&c->sender.sign);
    buf_fini(&c->sender.input);
}
