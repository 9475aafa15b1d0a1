// From events to a scenario and a history.
//
// Some kinds need no code of their own: the event holds the record, and build_event completes it
// and appends it to the array that the table names. The functions before build_event do what is
// more than a record: they add the transactions, changes and faults to the plan as well, add the
// deliveries of a line, and change the ledger by rows.
//
// The events of a kind are sorted before they are built, so that the lines of a story may come in
// any order. Kinds are built in the order of enum event_kind, because the defaults of later kinds
// depend on earlier ones: the end of a process on that of the run, the writer of a line on the
// processes that live.
#include "story/event.h"

struct build {
    struct story *t;
    const struct event *events;
    size_t count;
    struct default_context defaults;
    const struct event **sorted; // room for the events of one kind, in the order of building
    const struct event *source;  // the event that is built, as the text has it
};

// Appends a copy of an item of `size` bytes to the array *items, which has *count of them.
static void append(void *items, size_t *count, const void *item, size_t size)
{
    memory_grow(items, *count, 1, size);
    memcpy(*(char **)items + *count * size, item, size);
    ++*count;
}

// --- kinds that are more than a record --------------------------------------------------------
//
// An array of the plan shares its count with an array of records. A function here appends to the
// plan with a copy of the count, because build_event raises the count when it appends the record.

// Takes over what a `load` event says: when the load ended, how many inserts the server refused,
// and for how long at most the generator stood still.
static bool build_load(struct build *b, struct event *event, struct err *e)
{
    (void)e;
    b->defaults.load_ns = event->load.until_ns - STORY_START_NS;
    b->t->history.load.refused = event->load.refused;
    b->t->history.load.stalls.longest_ns = event->load.stalled_ns;
    return true;
}

// Takes over what a `run` event says of the whole run: its end, what ended it early, and counts.
static bool build_run(struct build *b, struct event *event, struct err *e)
{
    struct history_notes *n = &b->t->history.notes;

    (void)e;
    b->defaults.run_ns = event->run.until_ns - STORY_START_NS;
    n->interrupted = event->run.interrupted;
    n->others_share = (double)event->run.others / 1e6; // the event has millionths
    n->reconnects = event->run.reconnects;
    b->t->history.ledger.logs = event->run.logs;
    b->t->history.ledger.strangers = event->run.strangers;
    if (event->text)
        snprintf(n->gave_up, sizeof n->gave_up, "%s", event->text);
    return true;
}

// Checks a `process` event. Gives its record a pid, which is made up, and the exit status.
static bool build_process(struct build *b, struct event *event, struct err *e)
{
    struct process_record *p = &event->process.record;
    unsigned count = (unsigned)b->t->history.log.process_count;

    if (event->first != count || event->first >= STORY_PROCESSES_MAX)
        return origin_err(&event->origin, e, "process %u is missing, or told twice; at most %u",
            count, STORY_PROCESSES_MAX);
    // An end has no default, because a crash, a kill (which fills `signal`) and an end that the
    // harness asked for are judged differently.
    if (event_has(b->source, "until") && !event_has(b->source, "exit") &&
        !event_has(b->source, "signal") && !event_has(b->source, "asked"))
        return origin_err(&event->origin, e, "say how it ended: killed, 'signal N' or 'exit N'");
    if (p->instance >= b->t->scenario.collector.instances)
        return origin_err(&event->origin, e, "collector.instances is %d, and they count from 0",
            b->t->scenario.collector.instances);
    if (event->process.exit > 255 || event->process.signal > 64)
        return origin_err(&event->origin, e, "an exit code is at most 255, a signal at most 64");
    // A pid only names the process in findings.
    p->pid = 100 + (int)event->first;
    // The form in which waitpid gives it: the exit code in the second byte, the signal in the
    // first.
    p->status = event->process.exit << 8 | event->process.signal;
    // A story says that something still ran when the process had ended, but not what.
    if (p->left == PROCESS_LEFT_SOME)
        snprintf(p->litter, sizeof p->litter, "a process");
    return true;
}

// Returns the index of the load's phase in which a time lies; of the last one for later times. The
// time is in ns since the load began.
static uint8_t phase_at(const struct scenario *s, int64_t ns)
{
    size_t phase = 0;

    for (; phase + 1 < s->load_count && ns >= s->load[phase].for_ns; phase++)
        ns -= s->load[phase].for_ns;
    return (uint8_t)phase;
}

// Adds the event's tokens to the plan, as the rows of one transaction. Events are built in the
// order of the token numbers, which must have no gap.
static bool build_token(struct build *b, struct event *event, struct err *e)
{
    struct plan *plan = &b->t->history.plan;
    size_t rows = (size_t)event->last - event->first + 1, txns = plan->txn_count;
    int64_t due_ns = event->token.due_ns - STORY_START_NS;
    struct plan_txn txn = {.at_ns = due_ns,
        .first_token = event->first,
        .rows = (uint16_t)rows,
        .phase = phase_at(&b->t->scenario, due_ns),
        .flags = event->token.backlog ? TXN_BACKLOG : 0};

    if (event->first != plan->token_count)
        return origin_err(
            &event->origin, e, "token %zu is missing, or told twice", plan->token_count);
    // A transaction of the plan counts its rows in 16 bits.
    if (rows > UINT16_MAX || event->last >= STORY_TOKENS_MAX)
        return origin_err(&event->origin, e, "a story has at most %u tokens, a transaction %d",
            STORY_TOKENS_MAX, UINT16_MAX);
    append(&plan->txns, &txns, &txn, sizeof txn);
    memory_grow(&plan->kinds, plan->token_count, rows, 1);
    memset(plan->kinds + plan->token_count, (int)event->token.kind, rows);
    plan->token_count += rows;
    return true;
}

static bool require_token(const struct build *b, const struct event *event, struct err *e)
{
    return event->last < b->t->history.plan.token_count ||
           origin_err(&event->origin, e, "there is no token %u; the story has %zu", event->last,
               b->t->history.plan.token_count);
}

// Adds a change of a waiting token to the plan; build_event appends its record.
static bool build_change(struct build *b, struct event *event, struct err *e)
{
    struct plan *plan = &b->t->history.plan;
    size_t changes = plan->change_count;
    struct plan_change change = {.at_ns = event->change.record.sent_ns - STORY_START_NS,
        .token = event->first,
        .kind = (uint8_t)event->change.kind};

    if (!require_token(b, event, e))
        return false;
    // For event_has, `suspend` stands for each word that says what changes.
    if (!event_has(event, "suspend") || !event_has(event, "at"))
        return origin_err(&event->origin, e, "say what changes and when: 'change 4 suspend at 30'");
    // Everything finds a token's change by the token's number, and would never find a second one.
    for (size_t i = 0; i < changes; i++)
        if (plan->changes[i].token == event->first)
            return origin_err(&event->origin, e, "a token changes once");
    append(&plan->changes, &changes, &change, sizeof change);
    return true;
}

// Adds a fault to the plan, and ties its record to the scenario's fault, whose map the event has or
// names.
static bool build_fault(struct build *b, struct event *event, struct err *e)
{
    struct plan *plan = &b->t->history.plan;
    struct fault_record *r = &event->fault;
    size_t faults = plan->fault_count;
    struct plan_fault fault = {.at_ns = r->planned_ns - STORY_START_NS};

    if (!story_spec_of(b->events, b->count, b->source, &fault.spec, e))
        return false;
    // The plan has the length that the fault really had.
    fault.end_ns = fault.at_ns + r->ended_ns - r->began_ns;
    r->spec = &b->t->scenario.faults[fault.spec];
    // `left` is known if the event has the word, even with `never`.
    r->left_known = event_has(b->source, "left");
    r->undone = true; // in a story, no fault is still at work
    append(&plan->faults, &faults, &fault, sizeof fault);
    return true;
}

static bool require_process(struct build *b, const struct event *event, uint32_t n, struct err *e)
{
    return n < b->t->history.log.process_count ||
           origin_err(&event->origin, e, "there is no process %u; the story has %zu", n,
               b->t->history.log.process_count);
}

// Adds the deliveries of one item of a line: one for each token from `first` to `last`, or a single
// one when both are NUMBER_NONE, for a token that the plan does not have.
static bool build_item(
    struct build *b, const struct event *source, struct line_record *line, struct err *e)
{
    struct subject_log *log = &b->t->history.log;
    struct event item = *source;

    event_complete(&item, &b->defaults);
    item.item.line = (uint32_t)log->line_count; // build_event appends the line after its items
    if (source->first != NUMBER_NONE && !require_token(b, source, e))
        return false;
    for (uint32_t token = source->first;; token++) {
        if (log->delivery_count >= STORY_TOKENS_MAX)
            return origin_err(&source->origin, e, "at most %u tokens in lines", STORY_TOKENS_MAX);
        item.item.token = token;
        append(&log->deliveries, &log->delivery_count, &item.item, sizeof item.item);
        // A torn line holds no tokens; it only names some.
        line->tokens += !(item.item.flags & DELIVERY_NAMED);
        if (token == source->last)
            return true;
    }
}

static bool build_line(struct build *b, struct event *event, struct err *e)
{
    struct subject_log *log = &b->t->history.log;
    struct line_record *line = &event->line;

    if (!event_has(event, "by"))
        return origin_err(&event->origin, e, "say which process wrote it: 'line by 0 at 150: 0'");
    if (!require_process(b, event, line->process, e))
        return false;
    line->first_delivery = (uint32_t)log->delivery_count;
    // The items of a line follow it in the array of events.
    for (uint32_t i = 1; i <= event->items; i++)
        if (!build_item(b, b->source + i, line, e))
            return false;
    log->processes[line->process].lines++;
    return true;
}

static bool build_sample(struct build *b, struct event *event, struct err *e)
{
    return require_process(b, event, event->sample.process, e);
}

static bool build_stall(struct build *b, struct event *event, struct err *e)
{
    (void)e;
    stalls_note(&b->t->history.notes.reader_stalls, event->stall.from_ns, event->stall.until_ns);
    return true;
}

// Notes what the database held of these tokens at the end of the run, where that is not the
// default.
static bool build_row(struct build *b, struct event *event, struct err *e)
{
    if (!require_token(b, event, e))
        return false;
    for (uint32_t t = event->first; t <= event->last; t++) {
        struct ledger_token *token = &b->t->history.ledger.tokens[t];
        // The token as it is by default is an event in which no column differs.
        struct event row = *event, without = row_event(token, token);
        event_complete(&row, &(struct default_context){.row = &without});
        struct ledger_token held = row.row;
        // So far held.row has the bits in which the columns differ from the default (`changed`).
        // With `unread` it is 0 and stays so: nothing is known of the columns.
        if (held.row != 0 || !event_has(event, "unread"))
            held.row ^= token->row;
        *token = held;
    }
    return true;
}

// Counts an attempt of a token in the ledger; build_event appends its record.
static bool build_attempt(struct build *b, struct event *event, struct err *e)
{
    if (!require_token(b, event, e))
        return false;
    struct ledger_token *token = &b->t->history.ledger.tokens[event->first];
    event->attempt.token = event->first;
    // A late answer belongs to an attempt that has its own record already.
    token->attempts = (uint16_t)(token->attempts + (event->attempt.end != ATTEMPT_LATE));
    return true;
}

// --- the whole story ------------------------------------------------------------------------

// The kinds that need code. Each function checks and completes the record of an event, and adds to
// the history what stands outside the array of these records.
static bool (*const build_special[EVENT_KINDS])(struct build *, struct event *, struct err *) = {
    [EVENT_LOAD] = build_load,
    [EVENT_RUN] = build_run,
    [EVENT_PROCESS] = build_process,
    [EVENT_TOKEN] = build_token,
    [EVENT_CHANGE] = build_change,
    [EVENT_FAULT] = build_fault,
    [EVENT_LINE] = build_line,
    [EVENT_SAMPLE] = build_sample,
    [EVENT_STALL] = build_stall,
    [EVENT_ROW] = build_row,
    [EVENT_ATTEMPT] = build_attempt,
};

// Completes an event of the story and adds its record to the history. It checks that the event has
// the word that its kind needs, and fills in the defaults. Where the story says by how much a
// counter grew, it computes the counter's value. All this changes only a copy, because
// build_special asks which words `source` was given.
static bool build_event(struct build *b, const struct event *source, struct err *e)
{
    const struct kind *k = &vocabulary[source->kind];
    struct history *h = &b->t->history;
    struct event event = *source;
    size_t *count = (size_t *)(void *)((char *)h + k->count);

    if (k->needs && !event_has(source, k->needs))
        return origin_err(&source->origin, e, "%s", k->why);
    b->source = source;
    b->defaults.before = k->size ? event_record_before(h, &event, *count) : NULL;
    // The tokens of an event `row` have different defaults, so build_row completes each token's.
    if (source->kind != EVENT_ROW)
        event_complete(&event, &b->defaults);
    // The story says by how much a counter grew since the record before, the history keeps the sum.
    // This comes first, because the append below may move the record to which `before` points.
    event_accumulate(&event, b->defaults.before, 1);
    bool ok = !build_special[source->kind] || build_special[source->kind](b, &event, e);
    b->source = NULL;
    if (!ok)
        return false;
    // build_stall has kept the stall already.
    if (k->size > 0 && source->kind != EVENT_STALL)
        append((char *)h + k->array, count, event.record, k->size);
    return true;
}

// Returns the key by which the events of a kind are sorted: for processes, tokens and attempts the
// number, for all others the time.
static int64_t sort_key(const struct event *event)
{
    struct event full = *event;

    if (event->kind == EVENT_PROCESS || event->kind == EVENT_TOKEN || event->kind == EVENT_ATTEMPT)
        return event->first;
    if (event->kind == EVENT_FAULT)
        event_complete(&full, &(struct default_context){0}); // fills in when it was planned
    return event_time(&full);
}

static int compare_sort_keys(const void *a, const void *b)
{
    const struct event *x = *(const struct event *const *)a, *y = *(const struct event *const *)b;
    int64_t p = sort_key(x), q = sort_key(y);

    // Events with the same key keep the order of the file.
    return p != q ? (p > q) - (p < q) : (x > y) - (x < y);
}

// Builds all events of a kind, in the order of their sort_key.
static bool build_kind(struct build *b, enum event_kind kind, struct err *e)
{
    size_t count = 0;

    for (size_t i = 0; i < b->count; i++)
        if (b->events[i].kind == kind)
            b->sorted[count++] = &b->events[i];
    // A record's number and sums depend on the records before it. The file may have another order.
    if (count > 0)
        qsort(b->sorted, count, sizeof *b->sorted, compare_sort_keys);
    for (size_t i = 0; i < count; i++)
        if (!build_event(b, b->sorted[i], e))
            return false;
    // A story without a process event has one process for each collector.
    for (int i = 0; kind == EVENT_PROCESS && count == 0 && i < b->t->scenario.collector.instances;
         i++) {
        struct event alone = {.kind = EVENT_PROCESS, .first = (uint32_t)i};
        event_default(&alone, "instance", i);
        if (!build_event(b, &alone, e))
            return false;
    }
    return true;
}

// Fills in when each line's pipe was last seen empty (empty_ns) and when the line was first seen in
// it (seen_ns), where the story does not say. All are guessed first. Then the given ones are put
// back, and bounded so that empty_ns <= seen_ns <= read_ns.
static void fill_write_times(struct history *h)
{
    struct line_record *lines = h->log.lines;
    size_t count = lines ? h->log.line_count : 0;
    struct line_record *given FREED_BY(memory_free) = memory_allocate(count * sizeof *given);

    if (count > 0)
        memcpy(given, lines, count * sizeof *given);
    for (size_t i = 0; i < count; i++)
        lines[i].seen_ns = 0; // so that ledger_guess_written guesses it
    h->ledger.log = &h->log;
    h->ledger.faults = h->faults;
    h->ledger.fault_count = h->plan.fault_count;
    ledger_guess_written(&h->ledger);
    for (size_t i = 0; i < count; i++) {
        if (given[i].seen_ns)
            lines[i].seen_ns = clock_min(given[i].seen_ns, lines[i].read_ns);
        int64_t empty_ns = given[i].empty_ns ? given[i].empty_ns : lines[i].empty_ns;
        lines[i].empty_ns = clock_min(empty_ns, lines[i].seen_ns);
    }
}

// Notes that the database has the transaction of these tokens, though its COMMIT got no answer.
static void settle_tokens(struct ledger *l, const struct event *tokens)
{
    for (uint32_t t = tokens->first; t <= tokens->last; t++)
        l->tokens[t].flags |= TOKEN_SETTLED;
}

static bool build_all(struct build *b, struct err *e)
{
    const struct scenario *s = &b->t->scenario;
    struct history *h = &b->t->history;
    struct ledger *l = &h->ledger;

    b->defaults = (struct default_context){.load_ns = scenario_load_ns(s),
        .run_ns = scenario_load_ns(s) + s->drain_ns,
        .log = &h->log};
    h->version = HISTORY_VERSION;
    h->notes.reconnects = UINT64_MAX; // not counted
    h->plan.load_ns = h->plan.end_ns = b->defaults.load_ns;
    // ledger_init makes room for as many tokens as the plan has, so the tokens come first.
    bool ok = build_kind(b, EVENT_LOAD, e) && build_kind(b, EVENT_TOKEN, e) &&
              ledger_init(l, s, &h->plan, e);
    for (enum event_kind kind = EVENT_TOKEN + 1; ok && kind < EVENT_ROW; kind++)
        // build_line builds the items of its line.
        ok = kind == EVENT_ITEM || build_kind(b, kind, e);
    if (!ok)
        return false;
    // history_join fills in the ledger later. But default_rows needs these fields now, to know
    // which tokens are committed.
    l->txns = h->load.records;
    l->start_ns = STORY_START_NS;
    l->load_end_ns = STORY_START_NS + b->defaults.load_ns;
    l->drain_end_ns = STORY_START_NS + b->defaults.run_ns;
    for (size_t i = 0; i < b->count; i++)
        if (b->events[i].kind == EVENT_TOKEN && b->events[i].token.settled)
            settle_tokens(l, &b->events[i]);
    default_rows(l->tokens, h, NULL);
    fill_write_times(h);
    return build_kind(b, EVENT_ROW, e) && build_kind(b, EVENT_ATTEMPT, e) && history_join(h, e);
}

bool story_build(
    struct story *t, const struct event *events, size_t count, struct node *root, struct err *e)
{
    struct build b = {.t = t, .events = events, .count = count};

    b.sorted = memory_allocate(count * sizeof *b.sorted);
    bool ok = story_specs(events, count, root, e) && scenario_make(&t->scenario, root, e) &&
              build_all(&b, e);
    free(b.sorted);
    return ok;
}
