// What a story leaves out: the words of an event, and what the tables hold at the end.
#include "story/inside.h"

#include <string.h>

#define USUAL(e, field, value) event_usual(e, FIELD(field), (int64_t)(value))

// Gives a line the only process that lived when it was read.
static void complete_line(struct event *e, const struct subject_log *log)
{
    size_t alive = 0, by = 0;

    // Zero lets build.c guess them.
    if (!event_has(e, FIELD(line.empty_ns)))
        e->line.empty_ns = 0;
    if (!event_has(e, FIELD(line.seen_ns)))
        e->line.seen_ns = 0;
    for (size_t i = 0; i < log->process_count; i++) {
        const struct process_record *p = &log->processes[i];
        // A single process writes all lines, even before it is said to live.
        if (log->process_count > 1 &&
            (p->started_ns > e->line.read_ns || p->ended_ns < e->line.read_ns))
            continue;
        by = i;
        alive++;
    }
    if (alive == 1)
        USUAL(e, line.process, by);
}

// Fills in what depends on more than a field of the same event.
static void complete_specially(struct event *e, const struct usual *u)
{
    const struct starved_sample *look = u->before;
    const struct attempt_record *attempt = u->before;
    struct event row;
    bool ends, due;

    switch (e->kind) {
    case EVENT_LOAD:
        USUAL(e, load.until_ns, STORY_START_NS + u->load_ns);
        break;
    case EVENT_RUN:
        USUAL(e, run.until_ns, STORY_START_NS + u->run_ns);
        break;
    case EVENT_PROCESS:
        ends = event_has(e, FIELD(process.record.ended_ns));
        USUAL(e, process.record.ended_ns, STORY_START_NS + u->run_ns + 10 * NS_PER_MS);
        USUAL(e, process.record.asked, !ends || event_has(e, FIELD(process.signal)));
        break;
    case EVENT_TOKEN:
        due = event_has(e, FIELD(token.due_ns));
        USUAL(e, token.record.outcome, TXN_COMMITTED);
        due = due && e->token.record.outcome != TXN_NOT_SENT &&
              e->token.record.outcome != TXN_NOT_NEEDED;
        USUAL(e, token.record.sent_ns, due ? e->token.due_ns : 0);
        break;
    case EVENT_FAULT:
        USUAL(e, fault.ok, e->fault.began_ns != 0 || e->fault.left_out != LEFT_OUT_NOT);
        break;
    case EVENT_LINE:
        complete_line(e, u->log);
        break;
    case EVENT_LOOK: // both of the machine's processors are busy
        USUAL(e, look.busy_us, look ? 2 * (e->look.at_ns - look->at_ns) / NS_PER_US : 0);
        break;
    case EVENT_ROW:
        row = row_of(u->token, u->token);
        event_fill(e, &row);
        break;
    case EVENT_ATTEMPT:
        USUAL(e, attempt.number, attempt && attempt->token == e->first ? attempt->number + 1 : 1);
        break;
    default:
        break;
    }
}

static void complete(struct event *e, const struct event_word *word)
{
    int64_t value = word->usual;

    if (word->said || word->type == VALUE_TEXT || word->type == VALUE_BIT ||
        (word->type == VALUE_TIME && !word->like && !word->usual))
        return;
    // The other field may itself follow a third.
    if (word->like) {
        const struct event_word *like = event_word_for(e, word->like);
        complete(e, like);
        value = event_get(e, like->at, like->size);
        value = value != 0 ? value + word->usual : word->type == VALUE_TIME ? STORY_START_NS : 0;
    }
    event_usual(e, word->at, value);
}

void event_complete(struct event *e, const struct usual *u)
{
    complete_specially(e, u);
    FOR_WORDS(word, e)
    if (event_word_for(e, word->at) == word)
        complete(e, word);
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
