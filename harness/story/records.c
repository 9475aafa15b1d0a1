// From the records of a history to events: what was measured, and what the tables hold at the end.
#include <stdlib.h>
#include <string.h>

#include "story/event.h"

// Says how the process ended, and leaves out what the reader assumes.
static void tell_process(
    const struct writer *w, const struct process_record *p, struct event *event)
{
    bool to_the_end = p->ended_ns == w->l->drain_end_ns + 10 * NS_PER_MS;

    event->process.signal = p->status & 0x7f;
    event->process.exit = p->status >> 8 & 0xff;
    if (!event->process.signal)
        event_forget(event, "signal");
    // A process that ends before the end has to say how.
    if (!event->process.exit && (event->process.signal || to_the_end))
        event_forget(event, "exit");
}

// True when a stretch of time must be written, because it may be a stall. In a part, the slack is
// set, so nothing of slack/2 or less matters.
static bool is_stall(const struct writer *w, int64_t from_ns, int64_t until_ns)
{
    return !w->part ||
           (is_inside(w, from_ns, until_ns) && until_ns - from_ns > w->part->slack_ns / 2);
}

// True when the record with this index belongs to the part.
static bool is_kept(
    const struct writer *w, enum event_kind kind, const char *records, size_t count, size_t i)
{
    struct event event = {.kind = kind};
    int64_t at_ns, ended_ns;

    memcpy(event.record, records + i * vocabulary[kind].size, vocabulary[kind].size);
    at_ns = event_time(&event);
    switch (kind) {
    case EVENT_PROCESS:
        return w->process_no[i] != DROPPED;
    case EVENT_CHANGE:
        return w->token_no[w->h->plan.changes[i].token] != DROPPED && at_ns != 0;
    case EVENT_ATTEMPT:
        return w->token_no[event.attempt.token] != DROPPED;
    case EVENT_FAULT: // a fault is felt for a while after its end
        ended_ns = event.fault.ended_ns ? event.fault.ended_ns : at_ns;
        return is_inside(w, at_ns, ended_ns + w->s->recovery_limit_ns);
    case EVENT_SESSION: // the last session before the part was still open when it began
        return is_inside(w, at_ns, i + 1 == count ? CLOCK_NEVER : w->h->sessions[i + 1]);
    case EVENT_PROBE:
    case EVENT_FLUSH:
        ended_ns = at_ns + event.probe.stall_ns;
        if (event.probe.took_ns == CLOCK_NEVER)
            return is_inside(w, at_ns, ended_ns);
        return is_stall(w, at_ns, ended_ns + event.probe.took_ns);
    case EVENT_STALL:
        return is_stall(w, at_ns, event.stall.until_ns);
    case EVENT_HOLD:
        return is_inside(w, at_ns, event.hold.until_ns);
    case EVENT_SAMPLE:
        if (w->process_no[event.sample.process] == DROPPED)
            return false;
        break;
    default:
        break;
    }
    return is_inside(w, at_ns - NS_PER_S, at_ns + NS_PER_S);
}

// Gives a fault its map, or the number of an earlier fault with the same map: a second map would be
// a second fault of the scenario.
static void tell_fault(struct writer *w, struct event *event)
{
    size_t spec = (size_t)(event->fault.spec - w->s->faults);

    event->first = event->last = w->fault_no[spec];
    if (event->first == DROPPED) {
        buf_clear(&w->map);
        scenario_write_fault(event->fault.spec, &w->map);
        event->text = buf_str(&w->map);
        w->fault_no[spec] = w->fault_count;
    }
    w->fault_count++;
    // A word `left` says that the time is known.
    if (!event->fault.left_known)
        event_forget(event, "left");
}

// Returns a record as an event. The numbers of processes and tokens are new ones.
static struct event tell_record(
    const struct writer *w, enum event_kind kind, const char *records, size_t i)
{
    struct event event = write_event_of(w, kind, records + i * vocabulary[kind].size);

    if (kind == EVENT_PROCESS) {
        event.first = w->process_no[i];
        tell_process(w, &w->h->log.processes[i], &event);
    } else if (kind == EVENT_CHANGE) {
        event.first = w->token_no[w->h->plan.changes[i].token];
        event.change.kind = w->h->plan.changes[i].kind;
    } else if (kind == EVENT_SAMPLE) {
        event.sample.process = w->process_no[event.sample.process];
    } else if (kind == EVENT_ATTEMPT) {
        event.first = event.attempt.token = w->token_no[event.attempt.token];
    }
    event.last = event.first;
    return event;
}

void write_records(struct writer *w, enum event_kind kind)
{
    size_t count;
    const char *records = event_records(w->h, kind, &count);

    for (size_t i = 0; records && i < count; i++) {
        struct event event = {.kind = kind}, last;
        if (!is_kept(w, kind, records, count, i))
            continue;
        memcpy(event.record, records + i * vocabulary[kind].size, vocabulary[kind].size);
        // The text has each sum as the growth since the record that the reader will have seen
        // before this one.
        const char *before = event_record_before(w->h, &event, i);
        size_t b = before ? (size_t)(before - records) / vocabulary[kind].size : 0;
        w->usual.before = NULL;
        if (before && is_kept(w, kind, records, count, b)) {
            last = tell_record(w, kind, records, b);
            w->usual.before = last.record;
        }
        event = tell_record(w, kind, records, i);
        event_grow(&event, w->usual.before, -1);
        if (kind == EVENT_FAULT)
            tell_fault(w, &event);
        write_event(w, &event);
    }
}

// --- what the tables hold at the end ----------------------------------------------------------

bool write_rows(struct writer *w)
{
    struct ledger_token *usual = calloc(w->h->plan.token_count + 1, sizeof *usual);
    int64_t soon_ns = w->l->drain_end_ns - w->l->start_ns + 60 * NS_PER_S;
    struct event row = {.kind = EVENT_ROW}, without;

    if (!usual)
        return false;
    // The reader works the usual rows out from the lines of the part alone.
    usual_rows(usual, w->h, w->line_kept);
    for (uint32_t t = 0; t < w->h->plan.token_count; t++) {
        struct event next = usual_row(&w->l->tokens[t], &usual[t]);
        next.first = next.last = w->token_no[t];
        if (w->token_no[t] == DROPPED)
            continue;
        // Every token expires some day; only the near ones matter to a verdict.
        if (!w->explain &&
            (!(next.row.flags & TOKEN_PRESENT) || next.row.expires_at_s * NS_PER_S >= soon_ns))
            event_forget(&next, "expires");
        without = usual_row(&usual[t], &usual[t]);
        w->usual.row = &without;
        write_spare(w, &next);
        // Most rows of a run say nothing, or the same as the one before.
        if (row.given && event_follows(&row, &next)) {
            row.last = next.last;
            continue;
        }
        if (row.given)
            write_spared(w, &row, INT64_MAX);
        row = next;
    }
    if (row.given)
        write_spared(w, &row, INT64_MAX);
    free(usual);
    return true;
}
