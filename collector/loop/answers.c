// A sender counts the lines that it reads, from 1, and so do we. So a line needs no number on the
// wire. The lines of an earlier sender have lost their numbers, so answers of the present one do
// not fit them.
//
// When a sender dies, nobody knows which of the tokens without an answer went out. All of them are
// tried again, but for one that has used up its attempts. If a token was not in its first attempt,
// it may have killed more senders than this one, so it comes again in a line of its own, while no
// other line is out. Then it harms no other token, and if the sender dies again, this token has
// killed it. To try the whole line again would let one bad token take the others with it, until all
// are given up.
#include "loop/answers.h"

#include <poll.h>

#include "base/log.h"
#include "loop/work.h"

struct outbox_result answers_result(
    const struct line *line, const struct line_token *t, enum result_kind kind, const char *text)
{
    struct outbox_result r = {
        .row = line->n, .nonce = line->nonce, .token = t->id, .number = t->number, .kind = kind};

    snprintf(r.text, sizeof r.text, "%s", text);
    return r;
}

// Puts what became of a token into the outbox, and marks the token as answered. A transient error
// of the last attempt that is allowed makes the token dead. Any other gives it a delay until the
// next attempt. `text`: what the history says about it.
static bool record_result(struct collector *c, struct line *line, struct line_token *t,
    enum result_kind kind, const char *text, struct err *e)
{
    static const enum meter_id outcomes[] = {
        [RESULT_SENT] = METER_TOKENS_SENT,
        [RESULT_TRANSIENT] = METER_TOKENS_RETRY,
        [RESULT_DEAD] = METER_TOKENS_DEAD,
        [RESULT_RETURNED] = METER_TOKENS_RETURNED,
    };
    struct outbox_result r = answers_result(line, t, kind, text);

    if (kind == RESULT_TRANSIENT) {
        int errors = t->errors + 1; // this one included
        r.kind = retry_is_last(&c->sender.retry, errors) ? RESULT_DEAD : RESULT_TRANSIENT;
        r.delay_ms = retry_delay_ms(&c->sender.retry, errors);
    }
    // If there is no room for the result, the token stays unanswered, and is given back later.
    if (!outbox_add(&c->settle.outbox, &r, e))
        return false;
    work_count(c, outcomes[r.kind], 1);
    lines_answer(line, t);
    return true;
}

// Gives back the tokens of a line that is out: records for each unanswered one that no answer
// comes. `died`: because the sender died. Then a token in its second attempt, or a later one, comes
// again in a line of its own, so that it harms no other. If this line was such a line already, the
// sender's death counts as an error of its token. `why`: the text for the history.
static bool give_back_line(
    struct collector *c, struct line *line, bool died, const char *why, struct err *e)
{
    for (int i = 0; i < line->count; i++) {
        struct line_token *t = &line->tokens[i];
        if (t->answered)
            continue;
        c->ending.returned = c->ending.returned || work_stopping(c);
        bool guilty = died && line->count == 1 && line->alone;
        if (!record_result(c, line, t, guilty ? RESULT_TRANSIENT : RESULT_RETURNED, why, e))
            return false;
        // The result that record_result has just added.
        struct outbox_result *r = &c->settle.outbox.results[c->settle.outbox.count - 1];
        r->alone = died && (guilty || t->number >= 2);
    }
    return true;
}

bool answers_give_back(struct collector *c, bool died, const char *why, struct err *e)
{
    for (int i = 0; i < c->lines.count; i++) {
        struct line *line = &c->lines.all[i];
        if (line->state == LINE_OUT && line->left > 0 && !give_back_line(c, line, died, why, e))
            return false;
    }
    return true;
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
    return record_result(c, line, t, kinds[a->kind], a->text, e);
}

// Records an answer that nobody waits for any more, for those of its tokens that were given up. The
// answer has no other effect. *late: there was such a token.
static bool answer_late(
    struct collector *c, const struct line *line, const struct answer *a, bool *late, struct err *e)
{
    *late = false;
    for (int i = 0; i < line->count; i++) {
        if (!line->tokens[i].given_up || (a->place != 0 && a->place != i + 1))
            continue;
        if (!*late)
            log_line("SENDER", "an answer for line %" PRId64 " came too late", a->line);
        *late = true;
        struct outbox_result r = answers_result(line, &line->tokens[i], RESULT_LATE, a->text);
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
    // Nobody waits for this answer. A line without tokens that are awaited may have been freed by
    // another collector, so that its tokens were never answered.
    if (line->left == 0 || (a->place > 0 && line->tokens[a->place - 1].answered)) {
        bool late;
        if (!answer_late(c, line, a, &late, e) || late)
            return late;
        if (a->place > 0)
            log_line("SENDER", "line %" PRId64 ".%d was answered before", a->line, a->place);
        else
            log_line("SENDER", "line %" PRId64 " was answered before", a->line);
        return true;
    }
    if (a->place > 0)
        return answer_one(c, line, &line->tokens[a->place - 1], a, e);
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
        // A text that is no answer does no harm: the token that it was meant for times out.
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

bool answers_read(struct collector *c, size_t most, bool *ended, struct err *e)
{
    struct sender *s = &c->sender;
    struct pollfd p = {.fd = s->in, .events = POLLIN};

    *ended = false;
    for (size_t done = 0; done < most && poll(&p, 1, 0) > 0;) {
        // handle_answers never leaves the buffer full.
        size_t left = ANSWERS_MAX - s->input.len,
               want = left < ANSWERS_ROUND ? left : ANSWERS_ROUND;
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

// The sender may hang or only be slow. In either case this is an error of each token, as if the
// sender had reported a transient one.
bool answers_time_out(struct collector *c, struct err *e)
{
    int64_t most_ns = c->config->leased.answer_timeout_ms * NS_PER_MS;
    struct line *line;

    // In a mode without answers, a line that is out is one that the reader has not taken whole.
    // However long that lasts, only the reader can end it.
    if (!c->queue.policy->answers)
        return true;
    while ((line = lines_first(&c->lines, LINE_OUT)) && line->out_ns <= c->now_ns - most_ns) {
        log_line("SENDER",
            "line %" PRId64 ": no answer for %" PRId64 " ms to %d of %d %s; does the sender hang?",
            line->number, c->config->leased.answer_timeout_ms, line->left, line->count,
            NOUN(line->count, "token", "tokens"));
        // With the result of its last token the line is over, so the loop does not find it again.
        for (int i = 0; i < line->count; i++) {
            struct line_token *t = &line->tokens[i];
            if (t->answered)
                continue;
            if (!record_result(c, line, t, RESULT_TRANSIENT, "no answer in time", e))
                return false;
            t->given_up = true;
        }
    }
    if (line)
        work_wake_at(c, line->out_ns + most_ns);
    return true;
}
