#include "lease/state.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

#define ANSWERS_MAX ((size_t)1024 * 1024)
#define ROUND_MAX ((size_t)16 * 1024) // bytes that are read before other work has its turn
#define SENDER_CAP_NS (10 * NS_PER_S) // the longest pause before a sender is started again

// Puts what became of a token into the outbox. Transient errors are tried again, until there were
// too many.
bool sender_result(struct leased *l, struct flight_line *line, struct flight_token *t,
    enum result_kind kind, const char *text, struct err *e)
{
    static const enum meter_id outcomes[] = {
        [RESULT_SENT] = METER_TOKENS_SENT,
        [RESULT_TRANSIENT] = METER_TOKENS_RETRY,
        [RESULT_DEAD] = METER_TOKENS_DEAD,
        [RESULT_RETURNED] = METER_TOKENS_RETURNED,
    };
    struct outbox_result r = {
        .row = line->row, .token = t->id, .number = t->number, .errors = t->errors, .kind = kind};

    snprintf(r.text, sizeof r.text, "%s", text);
    if (kind == RESULT_TRANSIENT) {
        r.errors++;
        r.kind = retry_is_last(&l->sender.retry, r.errors) ? RESULT_DEAD : RESULT_TRANSIENT;
        r.delay_ms = retry_delay_ms(&l->sender.retry, r.errors);
    }
    leased_count(l, outcomes[r.kind]);
    r.last = line->left == 1;
    // Without its result the token stays unanswered, and is given back.
    if (!outbox_add(&l->outbox, &r, e))
        return false;
    flight_answer(line, t);
    return true;
}

// Records a token that will get no answer. A token that was in flight when two senders died comes
// again in a line of its own, so that it harms no other. When it already was alone in its line, its
// sender's death counts as an error.
static bool give_back(
    struct leased *l, struct flight_line *line, bool died, const char *why, struct err *e)
{
    bool out = line->state == FLIGHT_OUT;

    for (int i = 0; i < line->count; i++) {
        struct flight_token *t = &line->tokens[i];
        if (t->answered)
            continue;
        l->ending.returned = l->ending.returned || l->ending.step != STOP_NOT;
        bool guilty = died && out && line->count == 1 && line->alone;
        if (!sender_result(l, line, t, guilty ? RESULT_TRANSIENT : RESULT_RETURNED, why, e))
            return false;
        struct outbox_result *r = &l->outbox.results[l->outbox.count - 1];
        r->alone = died && out && (guilty || t->number >= 2);
    }
    return true;
}

static bool give_back_all(
    struct leased *l, enum flight_state state, bool died, const char *why, struct err *e)
{
    for (int i = 0; i < l->flight.count; i++) {
        struct flight_line *line = &l->flight.lines[i];
        if (line->state == state && line->left > 0 && !give_back(l, line, died, why, e))
            return false;
    }
    return true;
}

bool sender_return_ready(struct leased *l, const char *why, struct err *e)
{
    return give_back_all(l, FLIGHT_READY, false, why, e);
}

bool sender_return_all(struct leased *l, const char *why, struct err *e)
{
    return give_back_all(l, FLIGHT_READY, false, why, e) &&
           give_back_all(l, FLIGHT_OUT, false, why, e);
}

static bool answer_one(struct leased *l, struct flight_line *line, struct flight_token *t,
    const struct answer *a, struct err *e)
{
    static const enum result_kind kinds[] = {
        [ANSWER_SENT] = RESULT_SENT,
        [ANSWER_TRANSIENT] = RESULT_TRANSIENT,
        [ANSWER_PERMANENT] = RESULT_DEAD,
    };

    l->sender.answered++;
    return sender_result(l, line, t, kinds[a->kind], a->text, e);
}

// The answer is for a line that nobody waits for any more: it is recorded, but has no effect.
static bool answer_late(
    struct leased *l, const struct flight_line *line, const struct answer *a, struct err *e)
{
    log_line("SENDER", "an answer for line %" PRId64 " came too late", a->line);
    for (int i = 0; i < line->count; i++) {
        if (a->place != 0 && a->place != i + 1)
            continue;
        const struct flight_token *t = &line->tokens[i];
        struct outbox_result r = {
            .row = line->row, .token = t->id, .number = t->number, .kind = RESULT_LATE};
        snprintf(r.text, sizeof r.text, "%s", a->text);
        leased_count(l, METER_TOKENS_LATE);
        if (!outbox_add(&l->outbox, &r, e))
            return false;
    }
    return true;
}

static bool answer(struct leased *l, const struct answer *a, struct err *e)
{
    const struct sender *s = &l->sender;
    struct flight_line *line = a->line <= s->numbers ? flight_find(&l->flight, a->line) : NULL;

    if (a->line > s->numbers || (line && a->place > line->count)) {
        log_line("SENDER", "an answer is for line %" PRId64 ", place %d, which does not exist",
            a->line, a->place);
        return true;
    }
    if (!line) {
        log_line("SENDER", "an answer for line %" PRId64 " came too late", a->line);
        return true;
    }
    if (a->place > 0 && line->tokens[a->place - 1].answered) {
        if (line->timed_out)
            return answer_late(l, line, a, e);
        log_line("SENDER", "line %" PRId64 ".%d was answered before", a->line, a->place);
        return true;
    }
    if (a->place > 0)
        return answer_one(l, line, &line->tokens[a->place - 1], a, e);
    if (line->left == 0) {
        if (line->timed_out)
            return answer_late(l, line, a, e);
        log_line("SENDER", "line %" PRId64 " was answered before", a->line);
        return true;
    }
    for (int i = 0; i < line->count; i++)
        if (!line->tokens[i].answered && !answer_one(l, line, &line->tokens[i], a, e))
            return false;
    return true;
}

static bool take_lines(struct leased *l, struct err *e)
{
    struct sender *s = &l->sender;
    const char *end;
    size_t from = 0;

    while (from < s->input.len &&
           (end = memchr(s->input.data + from, '\n', s->input.len - from)) != NULL) {
        const char *line = s->input.data + from, *why;
        size_t len = (size_t)(end - line);
        struct answer a;
        from += len + 1;
        if (!answer_parse(&a, line, len, &why))
            log_line(
                "SENDER", "'%.*s' is not an answer: %s", (int)(len < 80 ? len : 80), line, why);
        else if (!answer(l, &a, e))
            return false;
        else
            s->heard = true;
    }
    buf_consume(&s->input, from);
    if (s->input.len == ANSWERS_MAX) {
        log_line("SENDER", "%zu bytes without a line end are not an answer", ANSWERS_MAX);
        buf_clear(&s->input);
    }
    return true;
}

// Reads what is there, but not more than about `most` bytes, because a sender may write faster than
// we read. Sets *ended at the end of the file.
static bool read_answers(struct leased *l, size_t most, bool *ended, struct err *e)
{
    struct sender *s = &l->sender;
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
        if (n <= 0) {
            *ended = true;
            return true;
        }
        s->input.len += (size_t)n;
        done += (size_t)n;
        if (!take_lines(l, e))
            return false;
    }
    return true;
}

bool sender_lost(struct leased *l, struct err *e)
{
    struct sender *s = &l->sender;
    char how[CHILD_HOW_LEN];
    bool stopped = l->ending.step != STOP_NOT; // we asked it to end, so no token is to blame
    bool ended;
    int unanswered = 0;

    // The answers that the sender wrote before its end count. Its pipe holds no more than these.
    if (s->child.out >= 0 && !read_answers(l, ANSWERS_MAX, &ended, e))
        return false;
    for (int i = 0; i < l->flight.count; i++)
        unanswered += l->flight.lines[i].state == FLIGHT_OUT ? l->flight.lines[i].left : 0;
    child_end(&s->child, how);
    if (!give_back_all(
            l, FLIGHT_OUT, !stopped, stopped ? "the collector stopped" : "the sender ended", e))
        return false;
    s->writing = NULL;
    flight_forget_numbers(&l->flight);
    buf_clear(&s->input);
    s->in = -1;
    s->numbers = 0;
    s->state = stopped ? SENDER_ENDED : SENDER_AWAY;
    s->start_at_ns = l->now_ns + backoff_next_ns(&s->backoff, SENDER_CAP_NS);
    log_line(
        "SENDER", "it ended %s; tokens without an answer, to be tried again: %d", how, unanswered);
    return true;
}

// Standard input has ended: no sender answers any more, and none can be started.
static bool reader_lost(struct leased *l, struct err *e)
{
    struct sender *s = &l->sender;

    s->state = SENDER_ENDED;
    s->in = -1;
    if (l->ending.step != STOP_NOT)
        return true;
    return err_set(e, s->heard ? ERR_OUTPUT : ERR_USAGE, "%s",
        s->heard ? "standard input has ended: nobody answers any more"
                 : "standard input has ended before any answer: MAILROOM_DEQUEUE=leased needs a "
                   "sender that answers there, or one after '--'");
}

bool sender_serve(struct leased *l, struct err *e)
{
    struct sender *s = &l->sender;
    bool ended;

    if (s->in < 0)
        return true;
    int64_t before = s->answered;
    if (!read_answers(l, ROUND_MAX, &ended, e))
        return false;
    if (s->answered > before)
        backoff_reset(&s->backoff);
    if (!ended)
        return true;
    return s->command ? sender_lost(l, e) : reader_lost(l, e);
}

static bool start(struct leased *l, struct err *e)
{
    struct sender *s = &l->sender;

    if (!child_start(&s->child, e) || !output_init(&s->output, s->child.in, e))
        return false;
    leased_count(l, METER_SENDER_STARTS);
    log_line("SENDER", "started as process %d", (int)s->child.pid);
    s->in = s->child.out;
    s->state = SENDER_HERE;
    return true;
}

static bool begin_line(struct leased *l, struct err *e)
{
    struct sender *s = &l->sender;
    struct flight_line *line = flight_next(&l->flight);

    // A suspected token goes out only while no other line is out: if the sender dies then, this
    // token has killed it.
    if (line && line->alone && flight_in(&l->flight, FLIGHT_OUT) > 0)
        return true;
    if (!line || l->ending.step != STOP_NOT || !output_ready(&s->output) || !database_fresh(l, e))
        return true;
    line->state = FLIGHT_OUT;
    line->out_ns = l->now_ns;
    line->number = ++s->numbers;
    s->writing = line;
    output_begin(&s->output, line->text.data, line->text.len);
    return true;
}

bool sender_step(struct leased *l, struct err *e)
{
    struct sender *s = &l->sender;
    struct err broken;

    if (s->state == SENDER_AWAY && l->ending.step == STOP_NOT) {
        if (l->now_ns < s->start_at_ns) {
            leased_wake_at(l, s->start_at_ns);
            return true;
        }
        if (!start(l, e))
            return false;
    }
    err_clear(&broken);
    while (s->state == SENDER_HERE) {
        if (!s->writing && !begin_line(l, e))
            return false;
        if (!s->writing)
            return true;
        if (!output_pump(&s->output, &broken)) {
            if (s->command)
                return sender_lost(l, e);
            *e = broken;
            return false;
        }
        if (!output_idle(&s->output))
            return true;
        metrics_line(l->metrics,
            s->writing->count >= l->config->batch_limit ? METER_BATCHES_FULL
                                                        : METER_BATCHES_TIMEOUT,
            s->writing->count);
        s->writing = NULL;
    }
    return true;
}

// Gives up a line that nobody answered in time. The sender may hang or only be slow; its lines are
// tried again in any case.
bool sender_time_out(struct leased *l, struct err *e)
{
    int64_t most_ns = l->config->leased.answer_timeout_ms * NS_PER_MS;
    struct flight_line *line;

    while ((line = flight_older(&l->flight, l->now_ns - most_ns)) != NULL) {
        log_line("SENDER",
            "line %" PRId64 ": no answer for %" PRId64 " ms to %d of %d tokens; "
            "does the sender hang?",
            line->number, l->config->leased.answer_timeout_ms, line->left, line->count);
        line->timed_out = true;
        for (int i = 0; i < line->count; i++)
            if (!line->tokens[i].answered &&
                !sender_result(l, line, &line->tokens[i], RESULT_TRANSIENT, "no answer in time", e))
                return false;
    }
    if (flight_oldest_ns(&l->flight) != CLOCK_NEVER)
        leased_wake_at(l, flight_oldest_ns(&l->flight) + most_ns);
    return true;
}
