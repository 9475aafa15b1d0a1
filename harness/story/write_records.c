// From the records of a history to events, for the kinds whose records stand in an array, and for
// what the tables hold at the end.
#include "story/event.h"

// Gives the event the words that say how the process ended, without those that a reader assumes.
static void set_process_end(
    const struct writer *w, const struct process_record *p, struct event *event)
{
    bool to_the_end = p->ended_ns == w->l->drain_end_ns + END_GRACE_NS;

    event->process.signal = p->status & 0x7f;
    event->process.exit = p->status >> 8 & 0xff;
    if (!event->process.signal)
        event_unset(event, "signal");
    // A process that a signal ended has no exit code. A code of 0 is the default at the end of the
    // run, but the reader refuses an earlier end that does not say how.
    if (!event->process.exit && (event->process.signal || to_the_end))
        event_unset(event, "exit");
}

// True when a stretch of time must be written, because it may be a stall. A part of a history has
// its slack as a setting, and then no stall of half the slack or less matters.
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
    int64_t at_ns, sent_ns;

    memcpy(event.record, records + i * vocabulary[kind].size, vocabulary[kind].size);
    at_ns = event_time(&event);
    switch (kind) {
    case EVENT_PROCESS:
        return w->process_no[i] != DROPPED;
    case EVENT_CHANGE: // 0: the change was never sent
        return w->token_no[w->h->plan.changes[i].token] != DROPPED && at_ns != 0;
    case EVENT_ATTEMPT:
        return w->token_no[event.attempt.token] != DROPPED;
    case EVENT_FAULT:
        return write_keeps_fault(w, &event.fault);
    case EVENT_SESSION: // a session counts as open until the next one opens
        return is_inside(w, at_ns, i + 1 == count ? CLOCK_NEVER : w->h->sessions[i + 1]);
    case EVENT_PROBE:
    case EVENT_FLUSH:
        sent_ns = at_ns + event.probe.stall_ns;
        // A query without an answer has no length that is_stall could compare.
        if (event.probe.took_ns == CLOCK_NEVER)
            return is_inside(w, at_ns, sent_ns);
        return is_stall(w, at_ns, sent_ns + event.probe.took_ns);
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
    // A sample or a look tells of the time since the one before, so some beside the part are kept.
    return is_inside(w, at_ns - NS_PER_S, at_ns + NS_PER_S);
}

// Gives a fault's event its map. If an earlier event of the same fault of the scenario has it,
// gives the number of that one instead, because each map in a story is a fault of the scenario.
static void set_fault_map(struct writer *w, struct event *event)
{
    size_t spec = (size_t)(event->fault.spec - w->s->faults);

    event->first = event->last = w->fault_no[spec];
    // DROPPED is NUMBER_NONE, for which event_write writes the map.
    if (event->first == DROPPED) {
        buf_clear(&w->map);
        scenario_write_fault(event->fault.spec, &w->map);
        event->text = buf_str(&w->map);
        w->fault_no[spec] = w->fault_count;
    }
    w->fault_count++;
    // The word `left` alone already says that the time is known.
    if (!event->fault.left_known)
        event_unset(event, "left");
}

// Returns a record as an event, in which processes and tokens have their numbers in the text.
static struct event renumbered_event(
    const struct writer *w, enum event_kind kind, const char *records, size_t i)
{
    struct event event = write_event_of(w, kind, records + i * vocabulary[kind].size);

    if (kind == EVENT_PROCESS) {
        event.first = w->process_no[i];
        set_process_end(w, &w->h->log.processes[i], &event);
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
        // What is a running sum in the record is a growth in the text: since the record before, if
        // that is written too; otherwise since 0.
        const char *before = event_record_before(w->h, &event, i);
        size_t b = before ? (size_t)(before - records) / vocabulary[kind].size : 0;
        w->defaults.before = NULL;
        if (before && is_kept(w, kind, records, count, b)) {
            last = renumbered_event(w, kind, records, b);
            w->defaults.before = last.record;
        }
        event = renumbered_event(w, kind, records, i);
        event_accumulate(&event, w->defaults.before, -1);
        if (kind == EVENT_FAULT)
            set_fault_map(w, &event);
        write_event(w, &event);
    }
}

// --- what the tables hold at the end ----------------------------------------------------------

void write_rows(struct writer *w)
{
    struct ledger_token *defaults FREED_BY(memory_free) =
        memory_zeroed(w->h->plan.token_count, sizeof *defaults);
    int64_t soon_ns = w->l->drain_end_ns - w->l->start_ns + 60 * NS_PER_S;
    struct event row = {.kind = EVENT_ROW}, without;

    // The reader makes the defaults from the answers to the lines in the text alone.
    default_rows(defaults, w->h, w->line_kept);
    for (uint32_t t = 0; t < w->h->plan.token_count; t++) {
        struct event next = row_event(&w->l->tokens[t], &defaults[t]);
        next.first = next.last = w->token_no[t];
        if (w->token_no[t] == DROPPED)
            continue;
        // Every token expires some day. Only an expiry within a minute of the end can matter to a
        // verdict, so only `explain` writes the others.
        if (!w->explain &&
            (!(next.row.flags & TOKEN_PRESENT) || next.row.expires_at_s * NS_PER_S >= soon_ns))
            event_unset(&next, "expires");
        without = row_event(&defaults[t], &defaults[t]);
        w->defaults.row = &without;
        write_drop_defaults(w, &next);
        // Most rows have no words left, or the same ones as the row before.
        if (row.given && event_follows(&row, &next)) {
            row.last = next.last;
            continue;
        }
        if (row.given)
            write_event_at(w, &row, INT64_MAX);
        row = next;
    }
    if (row.given)
        write_event_at(w, &row, INT64_MAX);
}
