// The defaults: of the words of an event, and of what the tables hold at the end.
//
// A default that is a number, or follows another word of the same event, stands in the table of
// vocabulary.c. This file has the few that depend on more. The reader of a story fills defaults in
// (event_complete), and the writer leaves out what the reader would fill in (event_drop_defaults).
#include "story/event.h"

// Fills in the defaults of a line. `by` is the story's only process or, of several, the only one
// that lived when the line was read; otherwise it has no default.
static void complete_line(struct event *e, const struct subject_log *log)
{
    size_t alive = 0, by = 0;

    // 0 means that build.c guesses the times `empty` and `seen`.
    event_default(e, "empty", 0);
    event_default(e, "seen", 0);
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
        event_default(e, "by", (int64_t)by);
}

// Fills in the defaults that the table cannot state: those that depend on several fields of the
// event, or on what lies outside of it (`u`).
static void complete_by_context(struct event *e, const struct default_context *u)
{
    const struct starved_sample *look = u->before;
    const struct attempt_record *attempt = u->before;
    struct event row;
    bool ends, sent;

    switch (e->kind) {
    case EVENT_LOAD:
        event_default(e, "until", STORY_START_NS + u->load_ns);
        break;
    case EVENT_RUN:
        event_default(e, "until", STORY_START_NS + u->run_ns);
        break;
    // Without `until`, the process lives to the end of the run. By default, one with `until` and
    // without a signal ended by itself, and any other was asked to end.
    case EVENT_PROCESS:
        ends = event_has(e, "until");
        event_default(e, "until", STORY_START_NS + u->run_ns + END_GRACE_NS);
        event_default(e, "asked", !ends || event_has(e, "signal"));
        break;
    case EVENT_TOKEN:
        // By default the transaction has committed (`unknown` and three other words fill its
        // outcome), and was sent when it was due.
        event_default(e, "unknown", TXN_COMMITTED);
        sent = event_has(e, "due") && e->token.record.outcome != TXN_NOT_SENT &&
               e->token.record.outcome != TXN_NOT_NEEDED;
        event_default(e, "at", sent ? e->token.due_ns : 0);
        break;
    case EVENT_FAULT: // `failed` fills the field `ok`: a fault that struck or was left out is ok
        event_default(e, "failed", e->fault.began_ns != 0 || e->fault.left_out != LEFT_OUT_NOT);
        break;
    case EVENT_LINE:
        complete_line(e, u->log);
        break;
    case EVENT_LOOK: // by default, both of the machine's processors are busy
        event_default(e, "busy", look ? 2 * (e->look.at_ns - look->at_ns) / NS_PER_US : 0);
        break;
    case EVENT_ROW: // all that the event does not say is as in u->row
        row = *u->row;
        event_merge(&row, e);
        e->row = row.row;
        e->given = row.given;
        break;
    case EVENT_ATTEMPT:
        event_default(e, "number", attempt && attempt->token == e->first ? attempt->number + 1 : 1);
        break;
    default:
        break;
    }
}

static void complete_by_table(struct event *e, const struct event_word *word);

// Returns the default of a word whose field follows that of another word (`like`).
static int64_t like_default(struct event *e, const struct event_word *word)
{
    const struct event_word *like = event_word(e, word->like);

    complete_by_table(e, like); // the other word may follow a third one
    int64_t value = event_get(e, like);
    if (value != 0)
        return value + word->default_value;
    // 0 is "never", which this word then is, too. A VALUE_TIME cannot be never.
    return word->type == VALUE_TIME ? STORY_START_NS : 0;
}

// Fills in a word's default from the table, unless its field is given already. Where several words
// fill a field, the first of them has the default; event_word returns that one.
static void complete_by_table(struct event *e, const struct event_word *word)
{
    if ((e->given & event_bit(e, word)) || event_word(e, word->name) != word || word->no_default ||
        word->type == VALUE_TEXT)
        return;
    // event_read has set a time without a default in the table to the load's beginning.
    if (word->type == VALUE_TIME && !word->like && !word->default_value)
        return;
    event_default(e, word->name, word->like ? like_default(e, word) : word->default_value);
}

void event_complete(struct event *e, const struct default_context *u)
{
    complete_by_context(e, u);
    FOR_WORDS(word, e)
    complete_by_table(e, word);
}

void event_drop_defaults(struct event *e, const struct default_context *u)
{
    FOR_WORDS(word, e)
    {
        uint64_t bit = event_bit(e, word);
        // The event is completed without the word, as a reader of the story will do it.
        struct event full = *e;
        full.given &= ~bit;
        complete_by_context(&full, u);
        complete_by_table(&full, word);
        if ((full.given & bit) && event_get(&full, word) == event_get(e, word))
            e->given &= ~bit;
    }
}

struct event row_event(const struct ledger_token *token, const struct ledger_token *without)
{
    struct event e = {.kind = EVENT_ROW, .row = *token};

    event_set_all(&e);
    // `changed` and `unread` are two words for this field. A 0 that stays given is written as
    // `unread`: nothing is known of the columns. A row that did not change has no word.
    e.row.row = token->row ? token->row ^ without->row : 0;
    if (token->row == without->row)
        event_unset(&e, "changed");
    return e;
}

void default_rows(struct ledger_token *tokens, const struct history *h, const bool *lines)
{
    bool leased = h->ledger.scenario->collector.dequeue == DEQUEUE_LEASED;

    for (uint32_t t = 0; t < h->plan.token_count; t++) {
        bool committed = ledger_committed(&h->ledger, t);
        tokens[t].expires_at_s = 900; // 15 minutes, the life of a token, from the load's beginning
        tokens[t].row = (uint16_t)row_inserted(h->plan.kinds[t]);
        tokens[t].flags |= committed ? TOKEN_PRESENT : 0;
        if (token_kind_unsendable(h->plan.kinds[t]) && committed)
            tokens[t].flags |= TOKEN_DEAD_LETTER;
    }
    // In leased mode the collector records a sender's answer as the outcome of the token.
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
