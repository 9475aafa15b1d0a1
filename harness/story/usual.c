// What a story leaves out: the words of an event, and what the tables hold at the end.
#include "story/inside.h"

#include <string.h>

#define USUAL(e, field, value) event_usual(e, FIELD(field), (int64_t)(value))

static int64_t later(int64_t ns, int64_t by_ns)
{
    return ns == 0 ? 0 : ns + by_ns;
}

static void complete_process(struct event *e, const struct usual *u)
{
    bool ends = event_has(e, FIELD(process.record.ended_ns));
    bool struck = event_has(e, FIELD(process.signal));

    USUAL(e, process.record.instance, 0);
    USUAL(e, process.record.started_ns, STORY_START_NS - NS_PER_S);
    USUAL(e, process.record.ended_ns, STORY_START_NS + u->run_ns + 10 * NS_PER_MS);
    USUAL(e, process.record.asked, !ends || struck);
    USUAL(e, process.record.left, PROCESS_LEFT_UNKNOWN);
}

static void complete_token(struct event *e)
{
    bool due = event_has(e, FIELD(token.due_ns));

    USUAL(e, token.kind, TOKEN_ACTIVATION);
    USUAL(e, token.record.outcome, TXN_COMMITTED);
    bool sent =
        e->token.record.outcome != TXN_NOT_SENT && e->token.record.outcome != TXN_NOT_NEEDED;
    USUAL(e, token.record.sent_ns, sent && due ? e->token.due_ns : 0);
    USUAL(e, token.due_ns, e->token.record.sent_ns ? e->token.record.sent_ns : STORY_START_NS);
    USUAL(e, token.record.commit_ns, e->token.record.sent_ns);
    USUAL(e, token.record.ended_ns, later(e->token.record.commit_ns, NS_PER_MS));
    USUAL(e, token.settled, 0);
    USUAL(e, token.backlog, 0);
}

static void complete_fault(struct event *e)
{
    USUAL(e, fault.began_ns, 0);
    USUAL(e, fault.sought_ns, e->fault.began_ns);
    USUAL(e, fault.planned_ns, e->fault.sought_ns ? e->fault.sought_ns : STORY_START_NS);
    USUAL(e, fault.ended_ns, e->fault.began_ns);
    USUAL(e, fault.served_ns, 0);
    USUAL(e, fault.left_out, LEFT_OUT_NOT);
    USUAL(e, fault.ok, e->fault.began_ns != 0 || e->fault.left_out != LEFT_OUT_NOT);
}

// Gives a line the only process that lived when it was read.
static void complete_line(struct event *e, const struct subject_log *log)
{
    size_t alive = 0, by = 0;

    USUAL(e, line.state, LINE_WHOLE);
    // Zero lets build.c guess them.
    if (!event_has(e, FIELD(line.empty_ns)))
        e->line.empty_ns = 0;
    if (!event_has(e, FIELD(line.seen_ns)))
        e->line.seen_ns = 0;
    for (size_t i = 0; i < log->process_count; i++) {
        const struct process_record *p = &log->processes[i];
        if (log->process_count > 1 &&
            (p->started_ns > e->line.read_ns || p->ended_ns < e->line.read_ns))
            continue;
        by = i;
        alive++;
    }
    if (alive == 1)
        USUAL(e, line.process, by);
}

static void complete_look(struct event *e, const struct usual *u)
{
    const struct starved_sample *before = u->before;

    // Both of the machine's processors are busy.
    USUAL(e, look.busy_us, before ? 2 * (e->look.at_ns - before->at_ns) / NS_PER_US : 0);
}

static void complete_row(struct event *e, const struct ledger_token *token)
{
    struct event row = row_of(token, token);

    USUAL(e, row.present, row.row.present);
    USUAL(e, row.buried, row.row.buried);
    USUAL(e, row.waiting, row.row.waiting);
    USUAL(e, row.unmarked, row.row.unmarked);
    USUAL(e, row.expires_ns, row.row.expires_ns);
    USUAL(e, row.told, row.row.told);
    USUAL(e, row.outcome, row.row.outcome);
}

static void complete_attempt(struct event *e, const struct attempt_record *before)
{
    USUAL(e, attempt.number, before && before->token == e->first ? before->number + 1 : 1);
}

void event_complete(struct event *e, const struct usual *u)
{
    switch (e->kind) {
    case EVENT_LOAD:
        USUAL(e, load.until_ns, STORY_START_NS + u->load_ns);
        break;
    case EVENT_RUN:
        USUAL(e, run.until_ns, STORY_START_NS + u->run_ns);
        USUAL(e, run.interrupted, 0);
        USUAL(e, run.reconnects, -1);
        USUAL(e, run.logs, LOGS_UNREAD);
        break;
    case EVENT_PROCESS:
        complete_process(e, u);
        break;
    case EVENT_TOKEN:
        complete_token(e);
        break;
    case EVENT_CHANGE:
        USUAL(e, change.record.ended_ns, later(e->change.record.sent_ns, NS_PER_MS));
        USUAL(e, change.record.back_sent_ns, 0);
        USUAL(e, change.record.back_ended_ns, later(e->change.record.back_sent_ns, NS_PER_MS));
        USUAL(e, change.record.outcome, TXN_COMMITTED);
        break;
    case EVENT_FAULT:
        complete_fault(e);
        break;
    case EVENT_LINE:
        complete_line(e, u->log);
        break;
    case EVENT_ITEM:
        USUAL(e, item.before_rename, 0);
        USUAL(e, item.reply, REPLY_NONE);
        break;
    case EVENT_LOOK:
        complete_look(e, u);
        break;
    case EVENT_PROBE:
    case EVENT_FLUSH:
        USUAL(e, probe.took_ns, NS_PER_MS);
        break;
    case EVENT_PRESENCE:
        USUAL(e, presence.sessions, 1);
        break;
    case EVENT_HOLD:
        USUAL(e, hold.pid, 7);
        break;
    case EVENT_ROW:
        complete_row(e, u->token);
        break;
    case EVENT_ATTEMPT:
        complete_attempt(e, u->before);
        break;
    default:
        break;
    }
    // A line's process is looked for, and that a process ended with 0 has to be said.
    FOR_WORDS(word, e)
    if (word->type == VALUE_LENGTH || word->type == VALUE_SHARE ||
        (word->type == VALUE_COUNT && e->kind != EVENT_LINE && e->kind != EVENT_PROCESS))
        event_usual(e, word->at, 0);
}

const void *record_before(const struct history *h, const struct event *e, size_t index)
{
    const struct kind *k = &vocabulary[e->kind];
    const char *items;

    memcpy(&items, (const char *)h + k->array, sizeof items);
    while (e->kind == EVENT_SAMPLE && index > 0 &&
           h->log.samples[index - 1].process != e->sample.process)
        index--;
    return index > 0 ? items + (index - 1) * k->size : NULL;
}

struct event row_of(const struct ledger_token *token, const struct ledger_token *without)
{
    struct event e = {.kind = EVENT_ROW};

    event_give_all(&e);
    e.row.present = token->flags & TOKEN_PRESENT;
    e.row.buried = token->flags & TOKEN_BURIED_AGAIN ? 2 : (token->flags & TOKEN_DEAD_LETTER) != 0;
    e.row.waiting = token->flags & TOKEN_WAITING;
    e.row.unmarked = token->flags & TOKEN_UNMARKED;
    e.row.told = token->flags & TOKEN_TOLD;
    e.row.expires_ns = STORY_START_NS + token->expires_at_s * NS_PER_S;
    e.row.outcome = token->outcome;
    e.row.changed = token->row ? token->row ^ without->row : 0;
    if (token->row == without->row)
        event_forget(&e, FIELD(row.changed));
    return e;
}

void story_settle_rows(struct ledger_token *tokens, const struct history *h, const bool *lines)
{
    bool leased = h->ledger.scenario->collector.dequeue == DEQUEUE_LEASED;

    for (uint32_t t = 0; t < h->plan.token_count; t++) {
        bool committed = ledger_committed(&h->ledger, t);
        tokens[t].expires_at_s = 900;
        tokens[t].row = (uint16_t)row_inserted(h->plan.kinds[t]);
        tokens[t].flags |= committed ? TOKEN_PRESENT : 0;
        if (token_kind_unsendable(h->plan.kinds[t]) && committed)
            tokens[t].flags |= TOKEN_DEAD_LETTER;
    }
    for (size_t i = 0; leased && i < h->log.delivery_count; i++) {
        const struct delivery *d = &h->log.deliveries[i];
        if (d->replied_ns == 0 || d->token >= h->plan.token_count || (lines && !lines[d->line]))
            continue;
        if (d->reply == REPLY_SENT)
            tokens[d->token].outcome = OUTCOME_SENT;
        if (d->reply == REPLY_PERMANENT)
            tokens[d->token].outcome = OUTCOME_DEAD;
    }
}
