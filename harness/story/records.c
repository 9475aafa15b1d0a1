// From the records of a history to events: what was measured, and what the tables hold at the end.
#include <stdlib.h>
#include <string.h>

#include "story/inside.h"

static void tell_process(
    const struct writer *w, const struct process_record *p, struct event *event)
{
    bool to_the_end = p->ended_ns == w->l->drain_end_ns + 10 * NS_PER_MS;

    event->process.signal = p->status & 0x7f;
    event->process.exit = p->status >> 8 & 0xff;
    if (!event->process.signal)
        event_forget(event, FIELD(process.signal));
    // A process that ends before the end has to say how.
    if (!event->process.exit && (event->process.signal || to_the_end))
        event_forget(event, FIELD(process.exit));
}

// True when a time is long enough to be a stall. In a part the slack is set, so nothing shorter
// matters.
static bool is_stall(const struct writer *w, int64_t from_ns, int64_t until_ns)
{
    return !w->part ||
           (is_inside(w, from_ns, until_ns) && until_ns - from_ns > w->part->slack_ns / 2);
}

// True when the record, of which `next` is the one behind it, belongs to the part.
static bool is_kept(const struct writer *w, enum event_kind kind, const void *record, bool last)
{
    const struct process_record *process = record;
    const struct plan_change *change;
    const struct change_record *sent = record;
    const int64_t *session_ns = record;
    const struct process_sample *sample = record;
    const struct probe_sample *probe = record;
    const struct stall *stall = record;
    const struct presence_hold *hold = record;
    const struct starved_sample *look = record;
    const struct presence_look *presence = record;
    int64_t at_ns;

    switch (kind) {
    case EVENT_PROCESS:
        return w->process_no[process - w->h->log.processes] != DROPPED;
    case EVENT_CHANGE:
        change = &w->h->plan.changes[sent - w->h->load.changes];
        return w->token_no[change->token] != DROPPED && sent->sent_ns != 0;
    case EVENT_SESSION: // the last one before the part is the session that was open
        return is_inside(w, session_ns[0], last ? CLOCK_NEVER : session_ns[1]);
    case EVENT_PROBE:
    case EVENT_FLUSH:
        at_ns = probe->due_ns + probe->stall_ns;
        if (probe->took_ns == CLOCK_NEVER)
            return is_inside(w, probe->due_ns, at_ns);
        return is_stall(w, probe->due_ns, at_ns + probe->took_ns);
    case EVENT_STALL:
        return is_stall(w, stall->from_ns, stall->until_ns);
    case EVENT_HOLD:
        return is_inside(w, hold->from_ns, hold->until_ns);
    case EVENT_SAMPLE:
        if (w->process_no[sample->process] == DROPPED)
            return false;
        at_ns = sample->at_ns;
        break;
    default:
        at_ns = kind == EVENT_LOOK ? look->at_ns : presence->at_ns;
        break;
    }
    return is_inside(w, at_ns - NS_PER_S, at_ns + NS_PER_S);
}

// Gives an event what is not in its record.
static void tell_further(struct writer *w, struct event *event, size_t i)
{
    const struct plan_change *change = &w->h->plan.changes[i];

    if (event->kind == EVENT_PROCESS) {
        event->first = event->last = w->process_no[i];
        tell_process(w, &w->h->log.processes[i], event);
    } else if (event->kind == EVENT_CHANGE) {
        event->first = event->last = w->token_no[change->token];
        event->change.kind = change->kind;
    } else if (event->kind == EVENT_SAMPLE) {
        event->sample.process = w->process_no[event->sample.process];
    }
}

void write_records(struct writer *w, enum event_kind kind)
{
    const struct kind *k = &vocabulary[kind];
    const char *items;
    size_t count;

    memcpy(&items, (const char *)w->h + k->array, sizeof items);
    memcpy(&count, (const char *)w->h + k->count, sizeof count);
    for (size_t i = 0; items && i < count; i++) {
        const char *record = items + i * k->size;
        struct event event = write_event_of(w, kind, record), last;
        // A sum counts from the record that the reader will have seen before this one.
        const void *before = record_before(w->h, &event, i);
        if (!is_kept(w, kind, record, i + 1 == count))
            continue;
        w->usual.before = NULL;
        if (before && is_kept(w, kind, before, false)) {
            last = write_event_of(w, kind, before);
            w->usual.before = last.record;
        }
        event_grow(&event, w->usual.before, -1);
        tell_further(w, &event, i);
        write_event(w, &event);
    }
}

// --- what the tables hold at the end ----------------------------------------------------------

bool write_rows(struct writer *w)
{
    struct ledger_token *usual = calloc(w->h->plan.token_count + 1, sizeof *usual);
    int64_t soon_ns = STORY_START_NS + w->l->drain_end_ns - w->l->start_ns + 60 * NS_PER_S;
    struct event row = {.kind = EVENT_ROW};

    if (!usual)
        return false;
    // The reader settles the rows by the lines of the part alone.
    story_settle_rows(usual, w->h, w->line_kept);
    for (uint32_t t = 0; t < w->h->plan.token_count; t++) {
        struct event next = row_of(&w->l->tokens[t], &usual[t]);
        next.first = next.last = w->token_no[t];
        if (w->token_no[t] == DROPPED)
            continue;
        // Every token expires some day; only the near ones matter to a verdict.
        if (!w->explain && (!next.row.present || next.row.expires_ns >= soon_ns))
            event_forget(&next, FIELD(row.expires_ns));
        w->usual.token = &usual[t];
        write_spare(w, &next);
        // Most rows of a run say nothing, or the same as the one before.
        if (row.given && write_follows(&row, &next)) {
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

void write_attempts(struct writer *w)
{
    for (size_t i = 0; i < w->l->attempt_count; i++) {
        const struct attempt_record *a = &w->l->attempts[i];
        struct event event = {.kind = EVENT_ATTEMPT, .attempt = *a};
        struct attempt_record before = {0};
        if (w->token_no[a->token] == DROPPED)
            continue;
        event_give_all(&event);
        event.first = event.last = w->token_no[a->token];
        // The numbers of the tokens are new ones.
        if (i > 0 && a[-1].token == a->token)
            before = (struct attempt_record){.token = event.first, .number = a[-1].number};
        w->usual.before = &before;
        write_event(w, &event);
    }
}
