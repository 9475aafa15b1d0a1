// Invariants of lines, of unplanned deliveries, and of processes.
#include "check/inside.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "plan/names.h"

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

// Returns the note that the reader or the settling of the ledger made on a line, or on one token in
// it.
static const char *note_of(const struct ledger *l, uint32_t line, uint32_t token)
{
    for (size_t i = 0; i < l->log->note_count; i++) {
        const struct line_note *note = &l->log->notes[i];
        if (note->line == line && note->token == token)
            return note->text;
    }
    return "bad signature, fields that are not the database's, or no whole token";
}

static const int by_signal =
    128; // a shell returns this plus the number of the signal that ended its program

// True when nobody read the output of a process while it ended: a fault kept its reader away, or
// the harness stood still for half of the second that a process has to end.
static bool could_not_write(const struct check *c, const struct process_record *p)
{
    const struct ledger *l = c->l;
    int64_t from_ns = p->ended_ns - NS_PER_S - c->r->slack_ns;

    for (size_t i = 0; i < l->fault_count; i++) {
        const struct fault_record *f = &l->faults[i];
        if (f->began_ns && f->began_ns < p->ended_ns && f->ended_ns > from_ns &&
            (f->spec->verb->id == VERB_CLOSE_READER ||
                harm_of(l->scenario, f->spec) == HARM_OUTPUT))
            return true;
    }
    return stall_list_ns(&c->stalls, from_ns, p->ended_ns) >= NS_PER_S / 2;
}

// True when a process left half a line although it ended by itself and its output was read. A
// process that a signal ends may stop in the middle of a line.
static bool is_broken_off(const struct check *c, const struct line_record *line)
{
    const struct process_record *p = &c->l->log->processes[line->process];

    return line->state == LINE_TAIL && WIFEXITED(p->status) && WEXITSTATUS(p->status) < by_signal &&
           !could_not_write(c, p);
}

bool check_keeps_unread(
    const struct ledger *l, const struct fault_record *f, const struct line_record *line)
{
    enum verb_id id = f->spec->verb->id;

    return f->began_ns && (id == VERB_PAUSE_READER || id == VERB_SLOW_READER) &&
           (f->spec->instance < 0 ||
               f->spec->instance == l->log->processes[line->process].instance);
}

int64_t check_written_ns(const struct check *c, const struct line_record *line)
{
    const struct ledger *l = c->l;
    int64_t written_ns = line->read_ns;

    for (size_t i = 0; i < l->fault_count; i++) {
        const struct fault_record *f = &l->faults[i];
        if (check_keeps_unread(l, f, line) && f->ended_ns > line->read_ns - c->r->slack_ns)
            written_ns = clock_min(written_ns, f->began_ns);
    }
    return written_ns;
}

static void check_line(const struct check *c, const struct line_record *line)
{
    struct result *r = c->r;
    const struct ledger *l = c->l;
    const struct process_record *p = &l->log->processes[line->process];

    judged_add(r, METRIC_TORN, 1, CAUSE_IS_NONE);
    if (line->state == LINE_WHOLE)
        judged_add(r, METRIC_OVER_LIMIT, 1, CAUSE_IS_NONE);
    if (line->state == LINE_TORN && is_torn_by_name(l, line))
        finding_add(r, METRIC_FORGED,
            "pid %d, read at %.3f s: a name that the wire cannot carry, printed as it is",
            (int)p->pid, ledger_seconds(l, line->read_ns));
    else if (line->state == LINE_TORN)
        finding_add(r, METRIC_TORN, "pid %d, read at %.3f s: %s", (int)p->pid,
            ledger_seconds(l, line->read_ns),
            note_of(l, (uint32_t)(line - l->log->lines), TOKEN_UNKNOWN));
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

static void check_delivery(struct result *r, const struct ledger *l, const struct delivery *d)
{
    char login[NAMES_MAX] = "an unknown login";
    double at = ledger_seconds(l, l->log->lines[d->line].read_ns);

    if (d->flags & DELIVERY_NAMED)
        return;
    bool ours = d->token < l->plan->token_count;
    judged_add(r, METRIC_FORGED, 1, CAUSE_IS_NONE);
    if (ours)
        names_login(login, d->token);
    if (d->flags & DELIVERY_FORGED)
        finding_add(
            r, METRIC_FORGED, "%s, read at %.3f s: %s", login, at, note_of(l, d->line, d->token));
    else if (!ours)
        finding_add(r, METRIC_PHANTOM, "%s, read at %.3f s: never attempted", login, at);
}

void check_lines(const struct check *c)
{
    const struct subject_log *log = c->l->log;

    for (size_t i = 0; i < log->line_count; i++)
        check_line(c, &log->lines[i]);
    for (size_t i = 0; i < log->delivery_count; i++)
        check_delivery(c->r, c->l, &log->deliveries[i]);
}

// True when the plan's own SIGKILL ended the process, even if it was asked to end a moment before.
bool check_killed_by_plan(const struct ledger *l, const struct process_record *p)
{
    for (size_t i = 0; i < l->fault_count; i++) {
        const struct fault_record *f = &l->faults[i];
        bool kills =
            f->spec->verb->id == VERB_KILL_COLLECTOR || f->spec->verb->id == VERB_KILL_HOST;
        if (kills && f->began_ns && f->began_ns <= p->ended_ns && p->ended_ns <= f->ended_ns &&
            (f->spec->instance < 0 || f->spec->instance == p->instance))
            return true;
    }
    return false;
}

// True when the process was asked to end and did so by its own exit or by a signal of ours. TERM
// counts, because the process may not catch it, and so does the SIGPIPE of a closed pipe. SIGKILL
// counts unless it ended a process that had ignored TERM at the end.
bool check_ended_as_asked(const struct ledger *l, const struct process_record *p)
{
    if (!p->asked || !WIFSIGNALED(p->status))
        return p->asked;
    switch (WTERMSIG(p->status)) {
    case SIGKILL:
        return p->ended_ns < l->drain_end_ns || check_killed_by_plan(l, p);
    case SIGTERM:
    case SIGPIPE:
        return true;
    default:
        return false;
    }
}

// A process that ends by itself is an unplanned exit; so is one that crashes while it ends.
void check_processes(struct result *r, const struct ledger *l)
{
    double deaths = 0, cpu_s = 0, rss = 0;

    for (size_t i = 0; i < l->log->process_count; i++) {
        const struct process_record *p = &l->log->processes[i];
        char how[48], said[64] = "";
        judged_add(r, METRIC_UNPLANNED_EXIT, 1, CAUSE_IS_NONE);
        deaths += p->ended_ns < l->drain_end_ns;
        cpu_s += p->cpu_s;
        rss = (double)p->rss_max_kb > rss ? (double)p->rss_max_kb : rss;
        if (WIFSIGNALED(p->status))
            snprintf(how, sizeof how, "signal %d", WTERMSIG(p->status));
        else
            snprintf(how, sizeof how, "exit code %d", WEXITSTATUS(p->status));
        if (p->last_words[0])
            snprintf(said, sizeof said, "; logs/collector-%d.log ends: ", p->instance);
        if (!check_ended_as_asked(l, p))
            finding_add(r, METRIC_UNPLANNED_EXIT, "pid %d ended at %.3f s with %s%s%s", (int)p->pid,
                ledger_seconds(l, p->ended_ns), how, said, p->last_words);
    }
    r->values[METRIC_COLLECTOR_DEATHS] = deaths;
    r->values[METRIC_COLLECTOR_CPU_S] = cpu_s;
    r->values[METRIC_COLLECTOR_RSS_MAX_KB] = rss;
}
