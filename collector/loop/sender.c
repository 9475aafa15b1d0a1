// A line goes out as bytes to the sender, and comes back as answers to its tokens. The sender is a
// child that we start, and start again when it ends; or a program that somebody else connected to
// our output and, with answers, to our input (the reader). We cannot start such a program again, so
// when it ends, we end.
//
// A sender counts the lines that it reads, from 1, and so do we. So a line needs no number on the
// wire. Answers of an earlier sender fit no line.
//
// When a sender dies, nobody knows which of the tokens without an answer went out. All of them are
// tried again. A token that was in flight when two senders died may have killed them, so it comes
// again in a line of its own, while no other line is out. Then it harms no other token, and if the
// sender dies again, this token has killed it. To try the whole line again would let one bad token
// take the others with it, until all are given up.
#include "loop/sender.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/noun.h"
#include "loop/take.h"
#include "loop/work.h"
#include "process/random.h"

#define ANSWERS_MAX ((size_t)1024 * 1024) // most bytes of answers that wait to be parsed
#define ROUND_MAX ((size_t)16 * 1024)     // bytes that are read before other work has its turn
#define SENDER_CAP_NS (10 * NS_PER_S)     // the longest pause before a sender is started again

// A transient error that is the token's last makes it dead. Any other gives it a delay until the
// next attempt.
bool sender_result(struct collector *c, struct line *line, struct line_token *t,
    enum result_kind kind, const char *text, struct err *e)
{
    static const enum meter_id outcomes[] = {
        [RESULT_SENT] = METER_TOKENS_SENT,
        [RESULT_TRANSIENT] = METER_TOKENS_RETRY,
        [RESULT_DEAD] = METER_TOKENS_DEAD,
        [RESULT_RETURNED] = METER_TOKENS_RETURNED,
    };
    struct outbox_result r = {.row = line->n,
        .nonce = line->nonce,
        .token = t->id,
        .number = t->number,
        .errors = t->errors,
        .kind = kind};

    snprintf(r.text, sizeof r.text, "%s", text);
    if (kind == RESULT_TRANSIENT) {
        r.errors++;
        r.kind = retry_is_last(&c->sender.retry, r.errors) ? RESULT_DEAD : RESULT_TRANSIENT;
        r.delay_ms = retry_delay_ms(&c->sender.retry, r.errors);
    }
    work_count(c, outcomes[r.kind], 1);
    // If there is no room for the result, the token stays unanswered, and is given back later.
    if (!outbox_add(&c->settle.outbox, &r, e))
        return false;
    lines_answer(line, t);
    return true;
}

// Records for each unanswered token of a line that it will get no answer; `died`: because the
// sender died. Then a token in its second attempt, or a later one, comes again in a line of its
// own, so that it harms no other. If a token was alone in its line already, the sender's death
// counts as an error of the token. `why`: the text for the history.
static bool give_back_line(
    struct collector *c, struct line *line, bool died, const char *why, struct err *e)
{
    bool out = line->state == LINE_OUT;

    for (int i = 0; i < line->count; i++) {
        struct line_token *t = &line->tokens[i];
        if (t->answered)
            continue;
        c->ending.returned = c->ending.returned || work_stopping(c);
        bool guilty = died && out && line->count == 1 && line->alone;
        if (!sender_result(c, line, t, guilty ? RESULT_TRANSIENT : RESULT_RETURNED, why, e))
            return false;
        struct outbox_result *r = &c->settle.outbox.results[c->settle.outbox.count - 1];
        r->alone = died && out && (guilty || t->number >= 2);
    }
    return true;
}

static bool give_back_lines_out(struct collector *c, bool died, const char *why, struct err *e)
{
    for (int i = 0; i < c->lines.count; i++) {
        struct line *line = &c->lines.all[i];
        if (line->state == LINE_OUT && line->left > 0 && !give_back_line(c, line, died, why, e))
            return false;
    }
    return true;
}

bool sender_return_all(struct collector *c, const char *why, struct err *e)
{
    return give_back_lines_out(c, false, why, e);
}

// Records an answer to one token.
static bool answer_one(struct collector *c, struct line *line, struct line_token *t,
    const struct answer *a, struct err *e)
{
    static const enum result_kind kinds[] = {
        [ANSWER_SENT] = RESULT_SENT,
        [ANSWER_TRANSIENT] = RESULT_TRANSIENT,
        [ANSWER_PERMANENT] = RESULT_DEAD,
    };

    c->sender.answered++;
    return sender_result(c, line, t, kinds[a->kind], a->text, e);
}

// Records an answer to a line that nobody waits for any more. It has no other effect.
static bool answer_late(
    struct collector *c, const struct line *line, const struct answer *a, struct err *e)
{
    log_line("SENDER", "an answer for line %" PRId64 " came too late", a->line);
    for (int i = 0; i < line->count; i++) {
        if (a->place != 0 && a->place != i + 1)
            continue;
        const struct line_token *t = &line->tokens[i];
        struct outbox_result r = {.row = line->n,
            .nonce = line->nonce,
            .token = t->id,
            .number = t->number,
            .kind = RESULT_LATE};
        snprintf(r.text, sizeof r.text, "%s", a->text);
        work_count(c, METER_TOKENS_LATE, 1);
        // The mail may have gone out twice, and only the history shows that.
        if (!outbox_add(&c->settle.outbox, &r, e))
            return false;
    }
    return true;
}

// Finds the tokens that an answer is for, and records it. An answer that fits none is only logged.
static bool answer_token(struct collector *c, const struct answer *a, struct err *e)
{
    const struct sender *s = &c->sender;
    struct line *line = a->line <= s->last_number ? lines_find(&c->lines, a->line) : NULL;

    // The sender counts lines or tokens in another way than we do. The answer fits no token, and
    // the line that it was meant for will time out.
    if (a->line > s->last_number || (line && a->place > line->count)) {
        log_line("SENDER", "an answer is for line %" PRId64 ", place %d, which does not exist",
            a->line, a->place);
        return true;
    }
    // The collector remembers only the last lines that are over, and this line is older.
    if (!line) {
        log_line("SENDER", "an answer for line %" PRId64 " came too late", a->line);
        return true;
    }
    if (a->place > 0 && line->tokens[a->place - 1].answered) {
        // The token was given up without an answer, so this late answer is its first.
        if (line->timed_out)
            return answer_late(c, line, a, e);
        log_line("SENDER", "line %" PRId64 ".%d was answered before", a->line, a->place);
        return true;
    }
    if (a->place > 0)
        return answer_one(c, line, &line->tokens[a->place - 1], a, e);
    if (line->left == 0) {
        // All its tokens were given up, or answered one by one.
        if (line->timed_out)
            return answer_late(c, line, a, e);
        log_line("SENDER", "line %" PRId64 " was answered before", a->line);
        return true;
    }
    // An answer without a place speaks for all tokens of the line that have no answer yet.
    for (int i = 0; i < line->count; i++)
        if (!line->tokens[i].answered && !answer_one(c, line, &line->tokens[i], a, e))
            return false;
    return true;
}

// Deals with each whole line of what the sender has written, and keeps the rest for later.
static bool handle_answers(struct collector *c, struct err *e)
{
    struct sender *s = &c->sender;
    const char *end;
    size_t from = 0;

    while (from < s->input.len &&
           (end = memchr(s->input.data + from, '\n', s->input.len - from)) != NULL) {
        const char *line = s->input.data + from, *why;
        size_t len = (size_t)(end - line);
        struct answer a;
        from += len + 1;
        // A text that is no answer does no harm: the token that it was meant for is tried again
        // after the timeout.
        if (!answer_parse(&a, line, len, &why))
            log_line(
                "SENDER", "'%.*s' is not an answer: %s", (int)(len < 80 ? len : 80), line, why);
        else if (!answer_token(c, &a, e))
            return false;
        else
            s->heard = true;
    }
    buf_consume(&s->input, from);
    // A sender that prints something else must not use up our memory.
    if (s->input.len == ANSWERS_MAX) {
        log_line("SENDER", "%zu bytes without a line end are not an answer", ANSWERS_MAX);
        buf_clear(&s->input);
    }
    return true;
}

// Reads what is there, but not more than about `most` bytes, because a sender may write faster than
// we read. Sets *ended at the end of the file.
static bool read_answers(struct collector *c, size_t most, bool *ended, struct err *e)
{
    struct sender *s = &c->sender;
    struct pollfd p = {.fd = s->in, .events = POLLIN};

    *ended = false;
    for (size_t done = 0; done < most && poll(&p, 1, 0) > 0;) {
        size_t left = ANSWERS_MAX - s->input.len, want = left < ROUND_MAX ? left : ROUND_MAX;
        char *room = buf_reserve(&s->input, want);
        if (!room)
            return err_memory(e);
        ssize_t n = read(s->in, room, want);
        if (n < 0 && errno == EINTR)
            continue;
        // A sender that cannot be read from is as good as one that has ended.
        if (n <= 0) {
            *ended = true;
            return true;
        }
        s->input.len += (size_t)n;
        done += (size_t)n;
        if (!handle_answers(c, e))
            return false;
    }
    return true;
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
    if (s->child.out >= 0 && !read_answers(c, ANSWERS_MAX, &ended, e))
        return false;
    for (int i = 0; i < c->lines.count; i++)
        unanswered += c->lines.all[i].state == LINE_OUT ? c->lines.all[i].left : 0;
    int code = child_end(&s->child, how);
    if (!give_back_lines_out(
            c, !stopped, stopped ? "the collector stopped" : "the sender ended", e))
        return false;
    s->writing = NULL;
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
    if (code == COLLECTOR_CONFIG && !stopped) {
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
    if (!read_answers(c, ROUND_MAX, &ended, e))
        return false;
    if (s->answered > before)
        backoff_reset(&s->backoff);
    if (!ended)
        return true;
    return s->starts ? sender_lost(c, e) : reader_lost(c, e);
}

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
// array, because a sender counts the places of only the tokens that it gets. Only for modes with
// answers.
static bool make_dead_letters(struct collector *c, struct line *line, struct err *e)
{
    int kept = 0;

    for (int i = 0; i < line->count; i++) {
        struct line_token *t = &line->tokens[i];
        if (!t->unsendable) {
            line->tokens[kept++] = *t;
            continue;
        }
        struct outbox_result r = {.row = line->n,
            .nonce = line->nonce,
            .token = t->id,
            .number = t->number,
            .kind = RESULT_DEAD};
        snprintf(r.text, sizeof r.text, "%s", t->unsendable);
        work_count(c, METER_TOKENS_DEAD_LETTER, 1);
        if (!outbox_add(&c->settle.outbox, &r, e))
            return false;
    }
    line->count = kept;
    return true;
}

// Makes the text of the line, if it has none yet. This is done before the line may begin, so that
// it can then begin at once.
static bool build_text(struct collector *c, struct line *line, struct err *e)
{
    if (line->built)
        return true;
    return lines_build(line, &c->sender.sign, e) &&
           (!c->queue.policy->answers || make_dead_letters(c, line, e));
}

// True if this line may begin, as far as other lines and the state allow it; begin_line checks its
// age, and whether the output has room. Where lines are not answered, no byte of a line is written
// before the line before it is settled, so a lost session leaves at most one line in doubt. A
// suspected token (`alone`) goes out only while no other line is out: if the sender dies then, this
// token has killed it.
static bool may_begin(const struct collector *c, const struct line *line)
{
    int out = lines_in(&c->lines, LINE_OUT);

    if (c->state != SERVE || work_stopping(c) || c->settle.doubt != DOUBT_CLEARED)
        return false;
    if (!c->queue.policy->answers)
        return out == 0 && lines_in(&c->lines, LINE_WRITTEN) == 0;
    return out < (int)c->config->leased.in_flight && (out == 0 || !line->alone) &&
           !lines_alone_out(&c->lines);
}

// Begins the oldest line that was taken, if it may begin and the output has room, and sets
// `writing` to it. A line without a token to write is over at once. False: an error.
static bool begin_line(struct collector *c, struct err *e)
{
    struct sender *s = &c->sender;
    struct line *line = lines_first(&c->lines, LINE_TAKEN);

    if (!line)
        return true;
    if (!build_text(c, line, e))
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
        return take_hold_old(c, e);
    // Until the output has room, the line waits; when it is too old, it is read again.
    if (!output_ready(&c->sender.output)) {
        work_wake_at(c, line->asked_ns + take_stale_ns(c) + 1);
        return true;
    }
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

    output_end(&c->sender.output);
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

// The sender may hang or only be slow; the tokens are tried again in any case.
bool sender_time_out(struct collector *c, struct err *e)
{
    int64_t most_ns = c->config->leased.answer_timeout_ms * NS_PER_MS;
    struct line *line;

    // Without answers, a line that is out is one that the reader has not taken whole. However long
    // that lasts, only the reader can end it.
    if (!c->queue.policy->answers)
        return true;
    while ((line = lines_older(&c->lines, c->now_ns - most_ns)) != NULL) {
        log_line("SENDER",
            "line %" PRId64 ": no answer for %" PRId64 " ms to %d of %d %s; does the sender hang?",
            line->number, c->config->leased.answer_timeout_ms, line->left, line->count,
            NOUN(line->count, "token", "tokens"));
        line->timed_out = true;
        // With the result of its last token the line is over, so the loop does not find it again.
        for (int i = 0; i < line->count; i++)
            if (!line->tokens[i].answered &&
                !sender_result(c, line, &line->tokens[i], RESULT_TRANSIENT, "no answer in time", e))
                return false;
    }
    if (lines_oldest_ns(&c->lines) != CLOCK_NEVER)
        work_wake_at(c, lines_oldest_ns(&c->lines) + most_ns);
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
        .in = command || !answers ? -1 : STDIN_FILENO};
    child_init(&s->child);
    buf_init(&s->input, 2 * ANSWERS_MAX);
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
