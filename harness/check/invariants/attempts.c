// Compares the collector's history of attempts with the lines: the attempts' numbers follow each
// other, an attempt that ended with an answer belongs to a line that had this answer, and each line
// has its attempt.
//
// A leased line may end unwritten: its attempts are given back, lost or expired. So the attempts
// are matched to the lines in their order, and some attempts to no line.
//
// misrecorded is found here and, from the recorded ends, in leased_outcome.c. A collector may die,
// or its session may end, before it has recorded something. That is an excuse, as it is for
// resurrected. There are five cases:
// - A token is recorded as sent, but its last answer was not `sent`. Or a token is recorded as
//   dead, but it was sent, or was neither refused nor tried often enough.
// - The number of an attempt does not follow the one before.
// - An attempt ended with an answer that no line to which it can belong had.
// - An attempt was given back or lost although the collector had heard its error.
// - A line has no attempt.
#include "check/inside.h"

// A token that was in more lines than this is not judged.
#define LINES_MAX 63

struct match {
    const struct check *c;
    uint32_t token;
    const struct delivery *read[LINES_MAX]; // the token's deliveries, in the order in which they
                                            // were read
    int count;
    int errors; // number of errors that the attempts so far have recorded
};

static const char *const words[ATTEMPT_ENDS] = {[ATTEMPT_SENT] = "sent",
    [ATTEMPT_TRANSIENT] = "failed for now",
    [ATTEMPT_DEAD] = "dead",
    [ATTEMPT_EXPIRED] = "expired",
    [ATTEMPT_RETURNED] = "given back",
    [ATTEMPT_LOST] = "lost",
    [ATTEMPT_LATE] = "late",
    [ATTEMPT_RETRIED] = "tried by hand"};

// True when the collector may not have learned what the sender answered.
static bool is_unheard(const struct match *h, const struct delivery *d)
{
    return !check_is_answered(d) || check_unrecorded_by(h->c, d, CLOCK_NEVER).kind != CAUSE_NONE;
}

// True when this recorded attempt may belong to this line. An attempt that was given back, or
// lost, although its answer was final counts as possible here, because other checks find that.
static bool is_of_line(
    const struct match *h, const struct attempt_record *a, const struct delivery *d)
{
    bool failed = is_unheard(h, d) || d->reply == REPLY_TRANSIENT;

    switch ((enum attempt_end)a->end) {
    case ATTEMPT_SENT:
        return d->reply == REPLY_SENT && check_is_answered(d);
    case ATTEMPT_TRANSIENT:
        return failed;
    case ATTEMPT_DEAD:
        return (d->reply == REPLY_PERMANENT && check_is_answered(d)) ||
               (failed && h->errors + 1 >= h->c->leased.attempts);
    case ATTEMPT_RETURNED:
    case ATTEMPT_LOST:
        return d->reply != REPLY_TRANSIENT || is_unheard(h, d);
    default:
        return false;
    }
}

// True when this recorded attempt may have ended before its line was written, so that it belongs to
// no line.
static bool may_have_no_line(const struct match *h, const struct attempt_record *a)
{
    switch ((enum attempt_end)a->end) {
    case ATTEMPT_SENT:
    case ATTEMPT_TRANSIENT:
        return false;
    case ATTEMPT_DEAD:
        // A token that the wire cannot carry becomes a dead letter without a line.
        return h->c->l->tokens[h->token].flags & TOKEN_DEAD_LETTER && h->count == 0;
    default:
        return true;
    }
}

// Matches one more attempt. `set` and the result say how the attempts so far can be matched: bit n
// is set when they may be those of the first n lines.
static uint64_t match_next(const struct match *h, const struct attempt_record *a, uint64_t set)
{
    uint64_t next = may_have_no_line(h, a) ? set : 0;

    for (int i = 0; i < h->count; i++)
        if ((set >> i & 1) && is_of_line(h, a, h->read[i]))
            next |= (uint64_t)1 << (i + 1);
    return next;
}

// True when the attempt of the token's last line may be unrecorded: the token has no recorded end
// yet, or the process was asked to end.
static bool may_be_open(const struct match *h)
{
    const struct ledger *l = h->c->l;
    const struct line_record *last = &l->log->lines[h->read[h->count - 1]->line];

    return l->tokens[h->token].outcome == OUTCOME_NONE || l->log->processes[last->process].asked;
}

// Judges the token's records, which are those from `a` up to `end`: their numbers, and whether they
// can be matched to its lines.
static void judge_attempts(
    struct match *h, const struct attempt_record *a, const struct attempt_record *end)
{
    struct result *r = h->c->r;
    uint64_t set = 1; // bit n: the attempts so far may be those of the first n lines (match_next)
    // The record of a token that expired before its first attempt has the attempt number 0.
    int number = a < end && a->number == 0 && a->end == ATTEMPT_EXPIRED ? 0 : 1;

    for (; a < end; a++) {
        // These are no attempts of their own: each has the number of an earlier one.
        if (a->end == ATTEMPT_LATE || a->end == ATTEMPT_RETRIED)
            continue;
        if (a->number != number++) {
            finding_add(r, METRIC_MISRECORDED,
                NAMES_TOKEN ": attempt %d is recorded as %s, but the next number is %d", h->token,
                a->number, words[a->end], number - 1);
            return;
        }
        // All ways to match are followed at once, because nobody knows between which lines an
        // unwritten attempt lies.
        set = match_next(h, a, set);
        if (set == 0) {
            finding_add(r, METRIC_MISRECORDED,
                NAMES_TOKEN
                ": attempt %d is recorded as %s, but no line that it can belong to ended "
                "that way",
                h->token, a->number, words[a->end]);
            return;
        }
        h->errors += a->end == ATTEMPT_TRANSIENT;
    }
    // All lines must have an attempt, but the last one may still be open.
    uint64_t ends = (uint64_t)1 << h->count |
                    (h->count > 0 && may_be_open(h) ? (uint64_t)1 << (h->count - 1) : 0);
    if (!(set & ends))
        finding_add(r, METRIC_MISRECORDED, NAMES_TOKEN ": one of its %d %s has no attempt",
            h->token, h->count, NOUN(h->count, "line", "lines"));
}

// Returns the first recorded attempt of this token or of a later one; the end of the array when
// there is none. The attempts are sorted by token.
static const struct attempt_record *first_of(const struct ledger *l, uint32_t token)
{
    size_t from = 0, to = l->attempt_count;

    while (from < to) {
        size_t mid = from + (to - from) / 2;
        if (l->attempts[mid].token < token)
            from = mid + 1;
        else
            to = mid;
    }
    return l->attempts + from;
}

void check_attempts(const struct check *c, uint32_t token, uint32_t first, const uint32_t *next)
{
    const struct ledger *l = c->l;
    struct match h = {.c = c, .token = token};

    // A torn or forged line (TOKEN_NAMED) may be the missing line of an attempt.
    if (l->attempt_count == 0 || !(l->tokens[token].flags & TOKEN_PRESENT) ||
        l->tokens[token].flags & TOKEN_NAMED)
        return;
    // A set of match_next is one word of 64 bits, so it has room for no more lines.
    for (uint32_t i = first; i != UINT32_MAX; i = next[i]) {
        if (h.count == LINES_MAX)
            return;
        h.read[h.count++] = &l->log->deliveries[i];
    }
    // A server that lost data may have lost records of attempts with them.
    if (h.count > 0 && check_server_forgot(
                           l, l->log->lines[h.read[0]->line].read_ns, l->drain_end_ns, CLOCK_NEVER))
        return;
    // A token with lines was counted when its end was judged.
    if (h.count == 0)
        judged_add(c->r, METRIC_MISRECORDED, 1, CAUSE_IS_NONE);
    judge_attempts(&h, first_of(l, token), first_of(l, token + 1));
}
