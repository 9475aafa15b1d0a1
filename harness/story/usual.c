// What a story leaves out: the words of an event, and what the tables hold at the end.
//
// A default that is a number, or follows another word of the same event, stands in the table. This
// file has the few defaults that depend on more. Reader and writer both use event_complete.
#include "story/event.h"

// Fills in what a line usually leaves out. `by` is the only process that lived when the line was
// read; where none or several lived, it stays unsaid.
static void complete_line(struct event *e, const struct subject_log *log)
{
    size_t alive = 0, by = 0;

    // With 0, build.c guesses the times `empty` and `seen`.
    event_usual(e, "empty", 0);
    event_usual(e, "seen", 0);
    for (size_t i = 0; i < log->process_count; i++) {
        const struct process_record *p = &log->processes[i];
        // A story's only process writes all lines, even those before its start or after its end.
        if (log->process_count > 1 &&
            (p->started_ns > e->line.read_ns || p->ended_ns < e->line.read_ns))
            continue;
        by = i;
        alive++;
    }
    if (alive == 1)
        event_usual(e, "by", (int64_t)by);
}

// Fills in the defaults that depend on more than a field of the same event.
static void complete_specially(struct event *e, const struct usual *u)
{
    const struct starved_sample *look = u->before;
    const struct attempt_record *attempt = u->before;
    struct event row;
    bool ends, sent;

    switch (e->kind) {
    case EVENT_LOAD:
        event_usual(e, "until", STORY_START_NS + u->load_ns);
        break;
    case EVENT_RUN:
        event_usual(e, "until", STORY_START_NS + u->run_ns);
        break;
    case EVENT_PROCESS:
        ends = event_has(e, "until");
        event_usual(e, "until", STORY_START_NS + u->run_ns + 10 * NS_PER_MS);
        event_usual(e, "asked", !ends || event_has(e, "signal"));
        break;
    case EVENT_TOKEN:
        event_usual(e, "unknown", TXN_COMMITTED);
        sent = event_has(e, "due") && e->token.record.outcome != TXN_NOT_SENT &&
               e->token.record.outcome != TXN_NOT_NEEDED;
        event_usual(e, "at", sent ? e->token.due_ns : 0);
        break;
    case EVENT_FAULT:
        event_usual(e, "failed", e->fault.began_ns != 0 || e->fault.left_out != LEFT_OUT_NOT);
        break;
    case EVENT_LINE:
        complete_line(e, u->log);
        break;
    case EVENT_LOOK: // by default, both of the machine's processors are busy
        event_usual(e, "busy", look ? 2 * (e->look.at_ns - look->at_ns) / NS_PER_US : 0);
        break;
    case EVENT_ROW:
        row = *u->row;
        event_say(&row, e);
        e->row = row.row;
        e->given = row.given;
        break;
    case EVENT_ATTEMPT:
        event_usual(e, "number", attempt && attempt->token == e->first ? attempt->number + 1 : 1);
        break;
    default:
        break;
    }
}

// Fills in a word's default, unless its field was said already. Where several words fill a field,
// the first of them has the default.
static void complete(struct event *e, const struct event_word *word)
{
    int64_t value = word->usual;

    if ((e->given & event_bit(e, word)) || event_word(e, word->name) != word || word->said ||
        word->type == VALUE_TEXT || (word->type == VALUE_TIME && !word->like && !word->usual))
        return;
    // The field of `like` may itself follow a third one.
    if (word->like) {
        const struct event_word *like = event_word(e, word->like);
        complete(e, like);
        value = event_get(e, like);
        value = value != 0 ? value + word->usual : word->type == VALUE_TIME ? STORY_START_NS : 0;
    }
    event_usual(e, word->name, value);
}

void event_complete(struct event *e, const struct usual *u)
{
    complete_specially(e, u);
    FOR_WORDS(word, e)
    complete(e, word);
}

void event_spare(struct event *e, const struct usual *u)
{
    FOR_WORDS(word, e)
    {
        uint64_t bit = event_bit(e, word);
        struct event full = *e;
        full.given &= ~bit;
        complete_specially(&full, u);
        complete(&full, word);
        if ((full.given & bit) && event_get(&full, word) == event_get(e, word))
            e->given &= ~bit;
    }
}

struct event usual_row(const struct ledger_token *token, const struct ledger_token *without)
{
    struct event e = {.kind = EVENT_ROW, .row = *token};

    event_give_all(&e);
    e.row.row = token->row ? token->row ^ without->row : 0;
    if (token->row == without->row)
        event_forget(&e, "changed");
    return e;
}

void usual_rows(struct ledger_token *tokens, const struct history *h, const bool *lines)
{
    bool leased = h->ledger.scenario->collector.dequeue == DEQUEUE_LEASED;

    for (uint32_t t = 0; t < h->plan.token_count; t++) {
        bool committed = ledger_committed(&h->ledger, t);
        tokens[t].expires_at_s = 900; // every token lives for 15 minutes
        tokens[t].row = (uint16_t)row_inserted(h->plan.kinds[t]);
        tokens[t].flags |= committed ? TOKEN_PRESENT : 0;
        if (token_kind_unsendable(h->plan.kinds[t]) && committed)
            tokens[t].flags |= TOKEN_DEAD_LETTER;
    }
    // An answer is recorded, unless the story says otherwise.
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
