// What a story leaves out: the words of an event, and what the tables hold at the end.
#include "story/inside.h"

static void complete(struct event *e, enum slot slot, int64_t value)
{
    if (!event_has(e, slot))
        event_set(e, slot, value);
}

static int64_t later(int64_t ns, int64_t by_ns)
{
    return ns == CLOCK_NEVER ? ns : ns + by_ns;
}

static void complete_process(struct event *e, int64_t run_ns)
{
    bool ends = event_has(e, SLOT_UNTIL);

    complete(e, SLOT_INSTANCE, 0);
    complete(e, SLOT_FROM, -NS_PER_S);
    complete(e, SLOT_UNTIL, run_ns + 10 * NS_PER_MS);
    complete(e, SLOT_ASKED, !ends || event_has(e, SLOT_SIGNAL));
}

static void complete_token(struct event *e)
{
    complete(e, SLOT_KIND, TOKEN_ACTIVATION);
    complete(e, SLOT_OUTCOME, TXN_COMMITTED);
    bool sent = e->value[SLOT_OUTCOME] != TXN_NOT_SENT && e->value[SLOT_OUTCOME] != TXN_NOT_NEEDED;
    complete(e, SLOT_AT, sent && event_has(e, SLOT_DUE) ? e->value[SLOT_DUE] : CLOCK_NEVER);
    complete(e, SLOT_DUE, e->value[SLOT_AT] == CLOCK_NEVER ? 0 : e->value[SLOT_AT]);
    complete(e, SLOT_COMMIT, e->value[SLOT_AT]);
    complete(e, SLOT_ACK, later(e->value[SLOT_COMMIT], NS_PER_MS));
    complete(e, SLOT_THERE, 0);
    complete(e, SLOT_BACKLOG, 0);
}

static void complete_fault(struct event *e)
{
    complete(e, SLOT_STRUCK, CLOCK_NEVER);
    complete(e, SLOT_SOUGHT, e->value[SLOT_STRUCK]);
    complete(e, SLOT_PLANNED, e->value[SLOT_SOUGHT] == CLOCK_NEVER ? 0 : e->value[SLOT_SOUGHT]);
    complete(e, SLOT_UNDONE, e->value[SLOT_STRUCK]);
    complete(e, SLOT_SERVED, CLOCK_NEVER);
    complete(e, SLOT_LEFT_OUT, LEFT_OUT_NOT);
    complete(e, SLOT_OK, e->value[SLOT_STRUCK] != CLOCK_NEVER || e->value[SLOT_LEFT_OUT] != 0);
}

// Gives a line the only process that lived when it was read.
static void complete_line(struct event *e, const struct subject_log *log)
{
    size_t alive = 0;
    int64_t read_ns = STORY_START_NS + e->value[SLOT_AT];

    complete(e, SLOT_STATE, LINE_WHOLE);
    for (size_t i = 0; !event_has(e, SLOT_BY) && i < log->process_count; i++) {
        const struct process_record *p = &log->processes[i];
        if (log->process_count > 1 && (p->started_ns > read_ns || p->ended_ns < read_ns))
            continue;
        e->value[SLOT_BY] = (int64_t)i;
        alive++;
    }
    if (alive == 1)
        event_set(e, SLOT_BY, e->value[SLOT_BY]);
}

void event_complete(struct event *e, int64_t run_ns, const struct subject_log *log)
{
    static const enum slot zero[] = {SLOT_WAITED, SLOT_OWN, SLOT_LOAD, SLOT_RAN, SLOT_STALLED,
        SLOT_RSS, SLOT_CPU, SLOT_WAKEUPS, SLOT_STARVED, SLOT_FORGED, SLOT_NAMED, SLOT_REFUSED,
        SLOT_OLD_NAME};

    switch (e->kind) {
    case EVENT_PROCESS:
        complete_process(e, run_ns);
        break;
    case EVENT_TOKEN:
        complete_token(e);
        break;
    case EVENT_FAULT:
        complete_fault(e);
        break;
    case EVENT_LINE:
        complete_line(e, log);
        break;
    case EVENT_CHANGE:
        complete(e, SLOT_ACK, later(e->value[SLOT_AT], NS_PER_MS));
        complete(e, SLOT_BACK, CLOCK_NEVER);
        complete(e, SLOT_BACK_ACK, later(e->value[SLOT_BACK], NS_PER_MS));
        complete(e, SLOT_OUTCOME, TXN_COMMITTED);
        break;
    default:
        break;
    }
    complete(e, SLOT_TOOK, NS_PER_MS);
    if (e->kind != EVENT_LINE)
        complete(e, SLOT_BY, 0);
    for (size_t i = 0; i < sizeof zero / sizeof *zero; i++)
        complete(e, zero[i], 0);
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
