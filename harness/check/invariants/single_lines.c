// Invariants of lines and of unplanned deliveries.
//
// torn: the last line of a process may lack its end. This always counts if nobody asked the process
// to end, or if it exited with 0. Of another process it counts only when both are true:
// - It exited by itself, because a process that a signal ends may stop anywhere in a line.
// - It could write the rest. With its pipe full it could not: a fault kept the reader away, slowed
//   it or ended the sender while the process ended, or nobody read for half a second.
//
// forged: a line that a name tears, such as one with a newline in it, counts as forged and not as
// torn.
#include "check/inside.h"

#include <sys/wait.h>

// True when a torn line names an account whose name tears the line if it is printed as it is.
static bool is_torn_by_name(const struct ledger *l, const struct line_record *line)
{
    const struct subject_log *log = l->log;

    for (size_t i = line->first_delivery;
         i < log->delivery_count && &log->lines[log->deliveries[i].line] == line; i++) {
        uint32_t token = log->deliveries[i].token;
        if (token < l->plan->token_count && l->plan->kinds[token] == TOKEN_BAD_NAME)
            return true;
    }
    return false;
}

// Returns what the reader, or the settling of the ledger, noted about a token in a line; with
// TOKEN_UNKNOWN, about the line itself. NULL: there is no note, because only the first NOTES_MAX
// are kept.
static const char *note_of(const struct ledger *l, uint32_t line, uint32_t token)
{
    for (size_t i = 0; i < l->log->note_count; i++) {
        const struct line_note *note = &l->log->notes[i];
        if (note->line == line && note->token == token)
            return note->text;
    }
    return NULL;
}

// Returns the reason why a line is torn or a token in it is forged.
static const char *reason_of(const struct ledger *l, uint32_t line, uint32_t token)
{
    const char *note = note_of(l, line, token);

    return note ? note : "bad signature, fields that are not the database's, or no whole token";
}

// True when a process may have been unable to write the rest of its last line. It had a second to
// end; if nobody read for half of that, this is enough.
static bool could_not_write(const struct check *c, const struct process_record *p)
{
    int64_t from_ns = p->ended_ns - NS_PER_S - c->r->slack_ns;
    const struct strike *k = NULL;

    while ((k = timeline_strike(&c->timeline, k, p->instance, from_ns, p->ended_ns)))
        if (k->verb->hits == HITS_READER || k->verb->hits == HITS_SENDER)
            return true;
    return check_unread_ns(c, p->instance, from_ns, p->ended_ns) >= NS_PER_S / 2;
}

// True when the line is the half line of a process that exited by itself and whose output was read.
static bool is_broken_off(const struct check *c, const struct line_record *line)
{
    const struct process_record *p = &c->l->log->processes[line->process];
    bool by_itself = WIFEXITED(p->status) && WEXITSTATUS(p->status) < check_by_signal;

    return line->state == LINE_TAIL && by_itself && !could_not_write(c, p);
}

// Looks for what a line shows by itself: torn, over the limit, or a name that should be refused.
static void check_line(const struct check *c, const struct line_record *line)
{
    struct result *r = c->r;
    const struct ledger *l = c->l;
    const struct process_record *p = &l->log->processes[line->process];

    judged_add(r, METRIC_TORN, 1, CAUSE_IS_NONE);
    if (line->state == LINE_WHOLE)
        judged_add(r, METRIC_OVER_LIMIT, 1, CAUSE_IS_NONE);
    // The defect is that the collector did not refuse the name, so the line counts as forged.
    if (line->state == LINE_TORN && is_torn_by_name(l, line))
        finding_add(r, METRIC_FORGED,
            "pid %d, read at %.3f s: a name that the wire cannot carry, printed as it is",
            (int)p->pid, ledger_seconds(l, line->read_ns));
    else if (line->state == LINE_TORN)
        finding_add(r, METRIC_TORN, "pid %d, read at %.3f s: %s", (int)p->pid,
            ledger_seconds(l, line->read_ns),
            reason_of(l, (uint32_t)(line - l->log->lines), TOKEN_UNKNOWN));
    if (is_broken_off(c, line))
        finding_add(r, METRIC_TORN,
            "pid %d ended with exit code %d at %.3f s in the middle of a line, though its reader "
            "read",
            (int)p->pid, WEXITSTATUS(p->status), ledger_seconds(l, line->read_ns));
    if (line->state == LINE_WHOLE && line->tokens > (uint32_t)l->scenario->collector.batch_limit)
        finding_add(r, METRIC_OVER_LIMIT, "pid %d, read at %.3f s: %u tokens in one line, limit %d",
            (int)p->pid, ledger_seconds(l, line->read_ns), line->tokens,
            l->scenario->collector.batch_limit);
}

// Judges a token of an earlier segment. A segment ends when all of its tokens are settled: written,
// confirmed, and no longer waiting. So such a token may come again only if the server lost data.
static void check_earlier(struct result *r, const struct ledger *l, const struct delivery *d)
{
    int64_t read_ns = l->log->lines[d->line].read_ns;
    // The note names one token of an earlier segment in this line, not always this one.
    const char *name = note_of(l, d->line, d->token);

    if (!check_server_forgot(l, l->start_ns, read_ns, l->start_ns))
        finding_add(r, METRIC_DUPLICATED,
            "read at %.3f s%s%s: a token that was settled in an earlier segment",
            ledger_seconds(l, read_ns), name ? ", in a line with " : "", name ? name : "");
}

static void check_delivery(struct result *r, const struct ledger *l, const struct delivery *d)
{
    char login[NAMES_MAX] = "an unknown login";
    double at_s = ledger_seconds(l, l->log->lines[d->line].read_ns);

    // A token that a torn line names was not delivered.
    if (d->flags & DELIVERY_NAMED)
        return;
    bool ours = d->token < l->plan->token_count;
    judged_add(r, METRIC_FORGED, 1, CAUSE_IS_NONE);
    if (d->flags & DELIVERY_EARLIER) {
        check_earlier(r, l, d);
        return;
    }
    // A token that is not in the plan has no login of ours.
    if (ours)
        ledger_name(l, d->token, login);
    if (d->flags & DELIVERY_FORGED)
        finding_add(r, METRIC_FORGED, "%s, read at %.3f s: %s", login, at_s,
            reason_of(l, d->line, d->token));
    else if (!ours)
        finding_add(r, METRIC_PHANTOM, "%s, read at %.3f s: never attempted", login, at_s);
}

void check_lines(const struct check *c)
{
    const struct subject_log *log = c->l->log;

    for (size_t i = 0; i < log->line_count; i++)
        check_line(c, &log->lines[i]);
    for (size_t i = 0; i < log->delivery_count; i++)
        check_delivery(c->r, c->l, &log->deliveries[i]);
}
