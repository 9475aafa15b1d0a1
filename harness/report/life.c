#include "report/life.h"

#include "report/met.h"

const char *life_outcome(const struct ledger *l, uint32_t token)
{
    switch (ledger_txn(l, token)->outcome) {
    case TXN_COMMITTED:
        return "COMMIT acknowledged";
    case TXN_ROLLED_BACK:
        return "rolled back";
    case TXN_UNKNOWN:
        return ledger_committed(l, token) ? "no answer; found in the database afterwards"
                                          : "no answer; not in the database afterwards";
    default:
        return "never sent";
    }
}

void life_fault(const struct ledger *l, const struct fault_record *f, char *out, size_t size)
{
    snprintf(out, size, "fault %s, until %.3f s: %s", f->spec->verb->name,
        ledger_seconds(l, f->ended_ns), f->evidence);
}

void life_delivery(const struct ledger *l, const struct delivery *d, char *out, size_t size)
{
    const struct line_record *line = &l->log->lines[d->line];
    const struct process_record *p = &l->log->processes[line->process];

    snprintf(out, size, "read from collector %d (pid %d), line of %u %s%s%s%s", p->instance,
        (int)p->pid, line->tokens, NOUN(line->tokens, "token", "tokens"),
        line->state == LINE_WHOLE ? "" : ", torn", d->flags & DELIVERY_FORGED ? ", forged" : "",
        d->flags & DELIVERY_NAMED ? ", only named" : "");
}

// Writes the token's name as in the sender's answers of leased mode. "12.3" is the third token of
// the twelfth line since the process began.
static void name_text(const struct ledger *l, const struct delivery *d, char *out, size_t size)
{
    const struct line_record *lines = l->log->lines;
    size_t number = 0;

    // A sender counts the lines of its collector, and begins anew with each process.
    for (uint32_t i = 0; i <= d->line; i++)
        number += lines[i].process == lines[d->line].process;
    snprintf(out, size, "%zu.%zu", number,
        (size_t)(d - l->log->deliveries) - lines[d->line].first_delivery + 1);
}

// For a delivery with a reply: tells which line carried the token, and what the harness answered.
static void tell_attempt(const struct ledger *l, const struct delivery *d, unsigned attempt,
    life_tell *tell, void *context)
{
    static const char *const answers[REPLIES] = {
        [REPLY_SENT] = "answered with sent",
        [REPLY_TRANSIENT] = "answered with a transient error",
        [REPLY_PERMANENT] = "answered with a permanent error",
        [REPLY_DIED] = "the sender died of it",
    };
    const bool unanswered = d->replied_ns == 0 || !answers[d->reply];
    const int64_t read_ns = l->log->lines[d->line].read_ns;
    char name[48], read[240], text[320];

    name_text(l, d, name, sizeof name);
    life_delivery(l, d, read, sizeof read);
    snprintf(text, sizeof text, "attempt %u, %s: %s%s", attempt, name, read,
        unanswered ? "; never answered" : "");
    tell(l, read_ns, text, context);
    if (unanswered)
        return;
    snprintf(text, sizeof text, "attempt %u, %s: %s, after %.1f ms", attempt, name,
        answers[d->reply], (double)(d->replied_ns - read_ns) / 1e6);
    tell(l, d->replied_ns, text, context);
}

// Tells each delivery of the token, as an attempt with its answer where answers are given.
static void tell_deliveries(const struct ledger *l, uint32_t token, life_tell *tell, void *context)
{
    unsigned attempt = 0;
    char text[320];

    for (size_t i = 0; i < l->log->delivery_count; i++) {
        const struct delivery *d = &l->log->deliveries[i];
        if (d->token != token)
            continue;
        // There are replies in leased mode, and where a queue's handlers are told how to end.
        if (d->reply != REPLY_NONE) {
            tell_attempt(l, d, ++attempt, tell, context);
            continue;
        }
        life_delivery(l, d, text, sizeof text);
        tell(l, l->log->lines[d->line].read_ns, text, context);
    }
}

// Tells the faults that the token met. Returns how many faults began too late to explain what
// became of it.
static size_t tell_faults(
    const struct ledger *l, const struct met *met, life_tell *tell, void *context)
{
    size_t began_too_late = 0;
    char text[320];

    for (size_t i = 0; i < l->fault_count; i++) {
        const struct fault_record *f = &l->faults[i];
        began_too_late += f->began_ns > met->until_ns;
        if (!met_includes(met, f))
            continue;
        life_fault(l, f, text, sizeof text);
        tell(l, f->began_ns, text, context);
    }
    return began_too_late;
}

// Tells the steps of the insert, then the faults, then the deliveries; life_each sorts them by
// time.
static void tell_all(const struct ledger *l, uint32_t token, life_tell *tell, void *context)
{
    const struct txn_record *txn = ledger_txn(l, token);
    const struct {
        int64_t at_ns;
        const char *what;
    } steps[] = {{ledger_is_closed_loop(l, token) ? 0 : ledger_intended_ns(l, token), "intended"},
        {txn->sent_ns, "insert sent"}, {txn->commit_ns, "COMMIT or ROLLBACK sent"},
        {txn->ended_ns, life_outcome(l, token)}};
    const struct met met = met_of(l, token);
    char text[80];

    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        // A step that never came has no time, and a closed loop no intended one.
        if (steps[i].at_ns != 0 && steps[i].at_ns != CLOCK_NEVER)
            tell(l, steps[i].at_ns, steps[i].what, context);
    }
    const size_t later = tell_faults(l, &met, tell, context);
    tell_deliveries(l, token, tell, context);
    // Later faults cannot explain an overdue token. They are counted for a reader who knows of them
    // and looks for them here.
    if (later > 0 && met.overdue) {
        snprintf(text, sizeof text, "%zu later %s not listed", later,
            NOUN(later, "fault is", "faults are"));
        tell(l, met.until_ns, text, context);
    }
}

struct event {
    int64_t at_ns;
    size_t number; // order in which the events came; sorts events of the same time
    char what[320];
};

struct events {
    struct event *items; // owned
    size_t count;
};

// A life_tell that keeps the event in struct events, to be sorted later.
static void keep_event(const struct ledger *l, int64_t at_ns, const char *what, void *context)
{
    struct events *kept = context;

    (void)l;
    memory_grow(&kept->items, kept->count, 1, sizeof *kept->items);
    struct event *event = &kept->items[kept->count];
    event->at_ns = at_ns;
    event->number = kept->count++;
    snprintf(event->what, sizeof event->what, "%s", what);
}

static int by_life_time(const void *a, const void *b)
{
    const struct event *x = a, *y = b;

    if (x->at_ns != y->at_ns)
        return x->at_ns < y->at_ns ? -1 : 1;
    return x->number < y->number ? -1 : 1;
}

void life_each(const struct ledger *l, uint32_t token, life_tell *tell, void *context)
{
    struct events kept = {0};

    tell_all(l, token, keep_event, &kept);
    // tell_all tells the events kind by kind, and a reader wants them in the order of time.
    if (kept.count > 0)
        qsort(kept.items, kept.count, sizeof *kept.items, by_life_time);
    for (size_t i = 0; i < kept.count; i++)
        tell(l, kept.items[i].at_ns, kept.items[i].what, context);
    free(kept.items);
}

// Writes what the collector of leased mode recorded of the token in the database; "" in other
// modes, and when the token is not there.
static void record_text(const struct ledger *l, uint32_t token, char *out, size_t size)
{
    static const char *const ends[] = {[OUTCOME_NONE] = "no end",
        [OUTCOME_SENT] = "sent",
        [OUTCOME_DEAD] = "dead",
        [OUTCOME_EXPIRED] = "expired"};
    const struct ledger_token *t = &l->tokens[token];

    *out = '\0';
    if (l->scenario->collector.dequeue == DEQUEUE_LEASED && (t->flags & TOKEN_PRESENT))
        snprintf(out, size, ", recorded: %s after %u %s", ends[t->outcome], t->attempts,
            NOUN(t->attempts, "attempt", "attempts"));
}

// Returns in words where a token still waits at the end; "": nowhere. In shared and leased mode it
// waits until its delivery is confirmed, in cursor mode until the cursor has passed it.
static const char *where_it_waits(const struct ledger *l, uint8_t flags)
{
    if (scenario_shares(l->scenario))
        return flags & TOKEN_UNMARKED ? ", not confirmed" : "";
    return flags & TOKEN_WAITING ? ", beyond the cursor" : "";
}

void life_end(const struct ledger *l, uint32_t token, char *out, size_t size)
{
    const struct ledger_token *t = &l->tokens[token];
    char record[64];

    record_text(l, token, record, sizeof record);
    char deliveries[40] = "never delivered";
    if (t->deliveries > 0)
        snprintf(deliveries, sizeof deliveries, "%u deliver%s", t->deliveries,
            t->deliveries == 1 ? "y" : "ies");
    snprintf(out, size, "%s%s%s, %s%s",
        t->flags & TOKEN_PRESENT ? "in the database" : "not in the database",
        t->flags & TOKEN_DEAD_LETTER ? ", in dead_letters" : "", where_it_waits(l, t->flags),
        deliveries, record);
}
