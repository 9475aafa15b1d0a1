// From events to a scenario and a history.
#include "story/inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "scenario/parse.h"

struct build {
    struct told *t;
    const struct event *events;
    size_t count;
    struct node *root;
    int64_t load_ns, run_ns;   // when load and run end
    const struct event **kind; // the events of one kind, in the order of time
    size_t kind_count;
    const struct event **faults; // the faults as they stand in the file
    uint32_t *last_sample;       // per process: 1 + the index of its last sample
};

static int64_t at(const struct event *event, enum slot slot)
{
    int64_t ns = event->value[slot];

    return ns == CLOCK_NEVER ? 0 : STORY_START_NS + ns;
}

static void *append(void *items, size_t *count, size_t size, struct err *e)
{
    char *base;

    if (!array_grow(items, *count, 1, size)) {
        err_memory(e);
        return NULL;
    }
    memcpy(&base, items, sizeof base);
    memset(base + *count * size, 0, size);
    return base + (*count)++ * size;
}

// --- defaults -------------------------------------------------------------------------------

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
    int64_t read_ns = at(e, SLOT_AT);

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
        SLOT_RSS, SLOT_CPU, SLOT_WAKEUPS, SLOT_STARVED, SLOT_FORGED, SLOT_NAMED, SLOT_REFUSED};

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

// --- the parts of a history -----------------------------------------------------------------

static bool build_load(struct build *b, const struct event *event, struct err *e)
{
    (void)e;
    b->load_ns = event_has(event, SLOT_UNTIL) ? event->value[SLOT_UNTIL] : b->load_ns;
    b->t->history.load.refused = (size_t)event->value[SLOT_FAILED];
    b->t->history.load.stalls.longest_ns = event->value[SLOT_STALLED];
    return true;
}

static bool build_run(struct build *b, const struct event *event, struct err *e)
{
    struct history_notes *n = &b->t->history.notes;

    (void)e;
    b->run_ns = event_has(event, SLOT_UNTIL) ? event->value[SLOT_UNTIL] : b->run_ns;
    n->interrupted = event->value[SLOT_INTERRUPTED] != 0;
    n->others_share = (double)event->value[SLOT_OTHERS] / 1e6;
    n->reconnects =
        event_has(event, SLOT_RECONNECTS) ? (uint64_t)event->value[SLOT_RECONNECTS] : UINT64_MAX;
    b->t->history.ledger.strangers = (size_t)event->value[SLOT_STRANGERS];
    if (event->text)
        snprintf(n->gave_up, sizeof n->gave_up, "%s", event->text);
    return true;
}

static bool build_process(struct build *b, const struct event *told, struct err *e)
{
    struct subject_log *log = &b->t->history.log;
    struct event event = *told;

    if (told->first != log->process_count || told->first >= STORY_PROCESSES_MAX)
        return origin_err(&told->origin, e, "process %u is missing, or told twice; at most %u",
            (unsigned)log->process_count, STORY_PROCESSES_MAX);
    if (event_has(told, SLOT_UNTIL) && !event_has(told, SLOT_EXIT) &&
        !event_has(told, SLOT_SIGNAL) && !event_has(told, SLOT_ASKED))
        return origin_err(&told->origin, e, "say how it ended: killed, 'signal N' or 'exit N'");
    event_complete(&event, b->run_ns, NULL);
    if (event.value[SLOT_INSTANCE] >= b->t->scenario.collector.instances)
        return origin_err(&told->origin, e, "collector.instances is %d, and they count from 0",
            b->t->scenario.collector.instances);
    if (event.value[SLOT_EXIT] > 255 || event.value[SLOT_SIGNAL] > 64)
        return origin_err(&told->origin, e, "an exit code is at most 255, a signal at most 64");
    struct process_record *p = append(&log->processes, &log->process_count, sizeof *p, e);
    if (!p)
        return false;
    *p = (struct process_record){.instance = (int)event.value[SLOT_INSTANCE],
        .pid = 100 + (int)told->first,
        .started_ns = at(&event, SLOT_FROM),
        .ended_ns = event.value[SLOT_UNTIL] == CLOCK_NEVER ? CLOCK_NEVER : at(&event, SLOT_UNTIL),
        .status = (int)(event.value[SLOT_EXIT] << 8 | event.value[SLOT_SIGNAL]),
        .asked = event.value[SLOT_ASKED] != 0};
    return true;
}

// Returns the phase of the load in which a time lies.
static uint8_t phase_at(const struct scenario *s, int64_t ns)
{
    size_t phase = 0;

    for (; phase + 1 < s->load_count && ns >= s->load[phase].for_ns; phase++)
        ns -= s->load[phase].for_ns;
    return (uint8_t)phase;
}

static bool build_token(struct build *b, const struct event *told, struct err *e)
{
    struct history *h = &b->t->history;
    struct event event = *told;
    size_t rows = (size_t)told->last - told->first + 1, records = h->plan.txn_count;

    if (told->first != h->plan.token_count)
        return origin_err(
            &told->origin, e, "token %zu is missing, or told twice", h->plan.token_count);
    if (rows > UINT16_MAX || told->last >= STORY_TOKENS_MAX)
        return origin_err(&told->origin, e, "a story has at most %u tokens, a transaction %d",
            STORY_TOKENS_MAX, UINT16_MAX);
    event_complete(&event, b->run_ns, NULL);
    struct plan_txn *txn = append(&h->plan.txns, &h->plan.txn_count, sizeof *txn, e);
    struct txn_record *r = txn ? append(&h->load.records, &records, sizeof *r, e) : NULL;
    if (!r || !array_grow(&h->plan.kinds, h->plan.token_count, rows, 1))
        return err_memory(e);
    memset(h->plan.kinds + h->plan.token_count, (int)event.value[SLOT_KIND], rows);
    h->plan.token_count += rows;
    *txn = (struct plan_txn){.at_ns = event.value[SLOT_DUE],
        .first_token = told->first,
        .rows = (uint16_t)rows,
        .phase = phase_at(&b->t->scenario, event.value[SLOT_DUE]),
        .flags = event.value[SLOT_BACKLOG] ? TXN_BACKLOG : 0};
    *r = (struct txn_record){.sent_ns = at(&event, SLOT_AT),
        .commit_ns = at(&event, SLOT_COMMIT),
        .ended_ns = at(&event, SLOT_ACK),
        .outcome = (enum txn_outcome)event.value[SLOT_OUTCOME]};
    return true;
}

static bool want_token(const struct build *b, const struct event *event, struct err *e)
{
    return event->last < b->t->history.plan.token_count ||
           origin_err(&event->origin, e, "there is no token %u; the story has %zu", event->last,
               b->t->history.plan.token_count);
}

static bool build_change(struct build *b, const struct event *told, struct err *e)
{
    struct history *h = &b->t->history;
    struct event event = *told;
    size_t records = h->plan.change_count;

    if (!want_token(b, told, e))
        return false;
    if (!event_has(told, SLOT_KIND) || !event_has(told, SLOT_AT))
        return origin_err(&told->origin, e, "say what changes and when: 'change 4 suspend at 30'");
    for (size_t i = 0; i < records; i++)
        if (h->plan.changes[i].token == told->first)
            return origin_err(&told->origin, e, "a token changes once");
    event_complete(&event, b->run_ns, NULL);
    struct plan_change *c = append(&h->plan.changes, &h->plan.change_count, sizeof *c, e);
    struct change_record *r = c ? append(&h->load.changes, &records, sizeof *r, e) : NULL;
    if (!r)
        return false;
    *c = (struct plan_change){.at_ns = event.value[SLOT_AT],
        .token = told->first,
        .kind = (uint8_t)event.value[SLOT_KIND]};
    *r = (struct change_record){.sent_ns = at(&event, SLOT_AT),
        .ended_ns = at(&event, SLOT_ACK),
        .back_sent_ns = at(&event, SLOT_BACK),
        .back_ended_ns = at(&event, SLOT_BACK_ACK),
        .outcome = (enum txn_outcome)event.value[SLOT_OUTCOME]};
    return true;
}

static bool build_item(struct build *b, const struct event *told, struct line_record *line,
    uint32_t number, struct err *e)
{
    struct subject_log *log = &b->t->history.log;
    struct event item = *told;

    event_complete(&item, b->run_ns, NULL);
    if (told->first != NUMBER_NONE && !want_token(b, told, e))
        return false;
    for (uint32_t token = told->first;; token++) {
        if (log->delivery_count >= STORY_TOKENS_MAX)
            return origin_err(&told->origin, e, "at most %u tokens in lines", STORY_TOKENS_MAX);
        struct delivery *d = append(&log->deliveries, &log->delivery_count, sizeof *d, e);
        if (!d)
            return false;
        *d = (struct delivery){.token = token,
            .line = number,
            .flags = (item.value[SLOT_FORGED] ? DELIVERY_FORGED : 0u) |
                     (item.value[SLOT_NAMED] ? DELIVERY_NAMED : 0u) |
                     (item.value[SLOT_REFUSED] ? DELIVERY_REFUSED : 0u),
            .reply = (uint8_t)item.value[SLOT_REPLY],
            .replied_ns = event_has(&item, SLOT_REPLIED) ? at(&item, SLOT_REPLIED) : 0};
        line->tokens += !item.value[SLOT_NAMED];
        if (token == told->last)
            return true;
    }
}

static bool build_line(struct build *b, const struct event *told, struct err *e)
{
    struct subject_log *log = &b->t->history.log;
    struct event event = *told;
    uint32_t number = (uint32_t)log->line_count;

    event_complete(&event, b->run_ns, log);
    struct line_record line = {.read_ns = at(&event, SLOT_AT),
        .process = (uint32_t)event.value[SLOT_BY],
        .empty_ns = event_has(told, SLOT_EMPTY) ? at(told, SLOT_EMPTY) : 0,
        .seen_ns = event_has(told, SLOT_SEEN) ? at(told, SLOT_SEEN) : 0,
        .first_delivery = (uint32_t)log->delivery_count,
        .state = (enum line_state)event.value[SLOT_STATE]};
    if (!event_has(told, SLOT_AT))
        return origin_err(&told->origin, e, "say when it was read: 'line at 150: 0'");
    if (!event_has(&event, SLOT_BY))
        return origin_err(&told->origin, e, "say which process wrote it: 'line by 0 at 150: 0'");
    if (event.value[SLOT_BY] >= (int64_t)log->process_count)
        return origin_err(&told->origin, e, "there is no process %lld; the story has %zu",
            (long long)event.value[SLOT_BY], log->process_count);
    for (uint32_t i = 1; i <= told->items; i++)
        if (!build_item(b, told + i, &line, number, e))
            return false;
    struct line_record *kept = append(&log->lines, &log->line_count, sizeof *kept, e);
    if (!kept)
        return false;
    *kept = line;
    log->processes[line.process].lines++;
    return true;
}

static bool build_session(struct build *b, const struct event *event, struct err *e)
{
    struct history *h = &b->t->history;
    int64_t *at_ns = append(&h->sessions, &h->ledger.session_count, sizeof *at_ns, e);

    if (at_ns)
        *at_ns = at(event, SLOT_AT);
    return at_ns;
}

static bool build_sample(struct build *b, const struct event *told, struct err *e)
{
    struct subject_log *log = &b->t->history.log;
    struct process_sample before = {0};
    struct event event = *told;

    event_complete(&event, b->run_ns, NULL);
    size_t process = (size_t)event.value[SLOT_BY];
    if (process >= log->process_count)
        return origin_err(&told->origin, e, "there is no process %zu; the story has %zu", process,
            log->process_count);
    if (b->last_sample[process] > 0)
        before = log->samples[b->last_sample[process] - 1];
    struct process_sample *s = append(&log->samples, &log->sample_count, sizeof *s, e);
    if (!s)
        return false;
    b->last_sample[process] = (uint32_t)log->sample_count;
    *s = (struct process_sample){.at_ns = at(&event, SLOT_AT),
        .process = (uint32_t)process,
        .rss_kb = (uint32_t)event.value[SLOT_RSS],
        .cpu_ms = before.cpu_ms + (uint64_t)(event.value[SLOT_CPU] / NS_PER_MS),
        .wakeups = before.wakeups + (uint64_t)event.value[SLOT_WAKEUPS],
        .starved_us = before.starved_us + (uint64_t)(event.value[SLOT_STARVED] / NS_PER_US)};
    return true;
}

static bool build_look(struct build *b, const struct event *told, struct err *e)
{
    struct history *h = &b->t->history;
    struct event event = *told;
    struct starved_sample before = {.at_ns = at(told, SLOT_AT)};
    size_t *count = &h->ledger.starved_count;

    if (*count > 0)
        before = h->starved[*count - 1];
    struct starved_sample *s = append(&h->starved, count, sizeof *s, e);
    if (!s)
        return false;
    if (!event_has(told, SLOT_BUSY)) // both of the machine's processors are busy
        event_set(&event, SLOT_BUSY, 2 * (at(told, SLOT_AT) - before.at_ns));
    event_complete(&event, b->run_ns, NULL);
    const int64_t *v = event.value;
    *s = (struct starved_sample){.at_ns = at(&event, SLOT_AT),
        .collector_us = before.collector_us + (uint64_t)(v[SLOT_WAITED] / NS_PER_US),
        .own_us = before.own_us + (uint64_t)(v[SLOT_OWN] / NS_PER_US),
        .busy_us = before.busy_us + (uint64_t)(v[SLOT_BUSY] / NS_PER_US),
        .load_us = before.load_us + (uint64_t)(v[SLOT_LOAD] / NS_PER_US),
        .load_ran_us = before.load_ran_us + (uint64_t)(v[SLOT_RAN] / NS_PER_US)};
    return true;
}

static bool build_probe(struct build *b, const struct event *told, struct err *e)
{
    struct history *h = &b->t->history;
    bool flush = told->kind == EVENT_FLUSH;
    struct event event = *told;
    struct probe_sample *s = append(flush ? &h->flushes : &h->probes,
        flush ? &h->ledger.flush_count : &h->ledger.probe_count, sizeof *s, e);

    event_complete(&event, b->run_ns, NULL);
    if (s)
        *s = (struct probe_sample){.due_ns = at(&event, SLOT_AT),
            .stall_ns = event.value[SLOT_STALLED],
            .took_ns = event.value[SLOT_TOOK]};
    return s;
}

static bool build_stall(struct build *b, const struct event *event, struct err *e)
{
    (void)e;
    stalls_note(&b->t->history.notes.reader_stalls, at(event, SLOT_FROM), at(event, SLOT_UNTIL));
    return true;
}

// --- faults ---------------------------------------------------------------------------------

static bool add_ms(struct node *map, const char *key, int64_t ns, struct err *e)
{
    char text[32];
    struct node *n;

    if (node_child(map, key))
        return true;
    snprintf(text, sizeof text, "%lld.%06lldms", (long long)(ns / NS_PER_MS),
        (long long)(ns % NS_PER_MS));
    n = node_new(NODE_SCALAR, text, &map->origin);
    if (n && node_add(map, n, key, &map->origin))
        return true;
    node_free(n);
    return err_memory(e);
}

// Adds a fault's map to the scenario. The times of the event say when it comes and how long it
// lasts.
static bool add_spec(struct node *faults, const struct event *told, struct err *e)
{
    struct node *map = NULL;
    struct event event = *told;

    if (!parse_yaml(&map, told->text, strlen(told->text), &told->origin, e))
        return false;
    if (!node_add(faults, map, NULL, NULL)) {
        node_free(map);
        return err_memory(e);
    }
    event_complete(&event, 0, NULL);
    const struct node *verb = node_child(map, "do");
    const struct verb *v = verb && verb->kind == NODE_SCALAR ? verb_find(verb->text) : NULL;
    int64_t lasts_ns = event.value[SLOT_UNDONE] - event.value[SLOT_STRUCK];
    int64_t planned_ns = event.value[SLOT_PLANNED];
    if (map->kind != NODE_MAP)
        return origin_err(&told->origin, e, "a fault is a map such as {do: reset}");
    if (v && (v->params & PARAM_NEEDS_FOR) &&
        !add_ms(map, "for", lasts_ns > NS_PER_MS ? lasts_ns : NS_PER_MS, e))
        return false;
    return add_ms(map, "at", planned_ns > 0 ? planned_ns : 0, e);
}

static bool add_specs(struct build *b, struct err *e)
{
    static const struct origin here = {.file = "story", .line = 1, .column = 1};
    struct node *faults = node_new(NODE_LIST, NULL, &here);

    if (!faults || !node_add(b->root, faults, "faults", &here)) {
        node_free(faults);
        return err_memory(e);
    }
    for (size_t i = 0; i < b->count; i++)
        if (b->events[i].kind == EVENT_FAULT && b->events[i].text &&
            !add_spec(faults, &b->events[i], e))
            return false;
    return true;
}

// Returns the number of the fault's map among all maps; the event may name an earlier fault.
static bool spec_of(const struct build *b, const struct event *event, uint32_t *spec, struct err *e)
{
    uint32_t fault = 0;

    *spec = 0;
    for (size_t i = 0; i < b->count; i++) {
        const struct event *other = &b->events[i];
        if (other->kind != EVENT_FAULT)
            continue;
        if (event->text ? other == event : fault == event->first)
            return other->text ||
                   origin_err(&event->origin, e, "there is no fault %u with a map", fault);
        fault++;
        *spec += other->text != NULL;
    }
    return origin_err(&event->origin, e, "there is no fault %u with a map", event->first);
}

static bool build_fault(struct build *b, const struct event *told, struct err *e)
{
    struct history *h = &b->t->history;
    struct event event = *told;
    size_t records = h->plan.fault_count;
    uint32_t spec;

    if (!spec_of(b, told, &spec, e))
        return false;
    event_complete(&event, b->run_ns, NULL);
    struct plan_fault *f = append(&h->plan.faults, &h->plan.fault_count, sizeof *f, e);
    struct fault_record *r = f ? append(&h->faults, &records, sizeof *r, e) : NULL;
    if (!r)
        return false;
    int64_t lasts_ns = at(&event, SLOT_UNDONE) - at(&event, SLOT_STRUCK);
    *f = (struct plan_fault){.at_ns = event.value[SLOT_PLANNED],
        .end_ns = event.value[SLOT_PLANNED] + lasts_ns,
        .spec = spec};
    *r = (struct fault_record){.spec = &b->t->scenario.faults[spec],
        .planned_ns = STORY_START_NS + event.value[SLOT_PLANNED],
        .sought_ns = at(&event, SLOT_SOUGHT),
        .began_ns = at(&event, SLOT_STRUCK),
        .ended_ns = at(&event, SLOT_UNDONE),
        .served_ns = at(&event, SLOT_SERVED),
        .left_known = event_has(told, SLOT_LEFT),
        .left_ns = event_has(told, SLOT_LEFT) ? at(&event, SLOT_LEFT) : 0,
        .ok = event.value[SLOT_OK] != 0,
        .left_out = (enum left_out)event.value[SLOT_LEFT_OUT],
        .undone = true};
    return true;
}

// --- what the tables hold -------------------------------------------------------------------

void story_settle_rows(struct ledger_token *tokens, const struct history *h, const bool *lines)
{
    bool leased = h->ledger.scenario->collector.dequeue == DEQUEUE_LEASED;

    for (uint32_t t = 0; t < h->plan.token_count; t++) {
        bool committed = ledger_committed(&h->ledger, t);
        tokens[t].expires_at_s = 900;
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

static void set_flag(struct ledger_token *token, uint8_t flag, bool on)
{
    token->flags = (uint8_t)(on ? token->flags | flag : token->flags & ~flag);
}

static bool build_row(struct build *b, const struct event *event, struct err *e)
{
    const int64_t *v = event->value;

    if (!want_token(b, event, e))
        return false;
    for (uint32_t t = event->first; t <= event->last; t++) {
        struct ledger_token *token = &b->t->history.ledger.tokens[t];
        if (event_has(event, SLOT_PRESENT))
            set_flag(token, TOKEN_PRESENT, v[SLOT_PRESENT]);
        if (event_has(event, SLOT_BURIED)) {
            set_flag(token, TOKEN_DEAD_LETTER, v[SLOT_BURIED]);
            set_flag(token, TOKEN_BURIED_AGAIN, v[SLOT_BURIED] > 1);
        }
        set_flag(token, TOKEN_WAITING, v[SLOT_WAITING] || (token->flags & TOKEN_WAITING));
        set_flag(token, TOKEN_UNMARKED, v[SLOT_UNMARKED] || (token->flags & TOKEN_UNMARKED));
        if (event_has(event, SLOT_EXPIRES))
            token->expires_at_s = (int32_t)(v[SLOT_EXPIRES] / NS_PER_S);
        if (event_has(event, SLOT_OUTCOME))
            token->outcome = (uint8_t)v[SLOT_OUTCOME];
    }
    return true;
}

static bool build_attempt(struct build *b, const struct event *event, struct err *e)
{
    struct ledger *l = &b->t->history.ledger;

    if (!want_token(b, event, e))
        return false;
    if (!event_has(event, SLOT_KIND))
        return origin_err(&event->origin, e, "say how it ended: sent, transient, dead, …");
    size_t i = l->attempt_count;
    struct attempt_record *a = append(&l->attempts, &l->attempt_count, sizeof *a, e);
    if (!a)
        return false;
    // The records are sorted by token and number.
    for (; i > 0 && l->attempts[i - 1].token > event->first; i--)
        l->attempts[i] = l->attempts[i - 1];
    uint16_t number = i > 0 && l->attempts[i - 1].token == event->first
                          ? (uint16_t)(l->attempts[i - 1].number + 1)
                          : 1;
    l->attempts[i] = (struct attempt_record){.token = event->first,
        .number = event_has(event, SLOT_NUMBER) ? (uint16_t)event->value[SLOT_NUMBER] : number,
        .end = (uint8_t)event->value[SLOT_KIND]};
    struct ledger_token *token = &l->tokens[event->first];
    token->attempts = (uint16_t)(token->attempts + (l->attempts[i].end != ATTEMPT_LATE));
    return true;
}

// --- all of it ------------------------------------------------------------------------------

static int64_t order_of(const struct event *event)
{
    switch (event->kind) {
    case EVENT_PROCESS:
    case EVENT_TOKEN:
        return event->first;
    case EVENT_FAULT:
        return event_has(event, SLOT_PLANNED)  ? event->value[SLOT_PLANNED]
               : event_has(event, SLOT_SOUGHT) ? event->value[SLOT_SOUGHT]
                                               : event->value[SLOT_STRUCK];
    case EVENT_STALL:
        return event->value[SLOT_FROM];
    case EVENT_ROW:
    case EVENT_ATTEMPT:
        return 0;
    default:
        return event->value[SLOT_AT];
    }
}

static int by_order(const void *a, const void *b)
{
    const struct event *x = *(const struct event *const *)a, *y = *(const struct event *const *)b;
    int64_t p = order_of(x), q = order_of(y);

    return p != q ? (p > q) - (p < q) : (x > y) - (x < y);
}

static bool build_kind(struct build *b, enum event_kind kind,
    bool (*build)(struct build *b, const struct event *event, struct err *e), struct err *e)
{
    b->kind_count = 0;
    for (size_t i = 0; i < b->count; i++)
        if (b->events[i].kind == kind)
            b->kind[b->kind_count++] = &b->events[i];
    if (b->kind_count > 0)
        qsort(b->kind, b->kind_count, sizeof *b->kind, by_order);
    for (size_t i = 0; i < b->kind_count; i++)
        if (!build(b, b->kind[i], e))
            return false;
    return true;
}

// Without a word about processes, each collector lives from a second before the load to the end.
static bool build_processes(struct build *b, struct err *e)
{
    if (!build_kind(b, EVENT_PROCESS, build_process, e))
        return false;
    for (int i = 0; b->kind_count == 0 && i < b->t->scenario.collector.instances; i++) {
        struct event alone = {.kind = EVENT_PROCESS, .first = (uint32_t)i};
        event_set(&alone, SLOT_INSTANCE, i);
        if (!build_process(b, &alone, e))
            return false;
    }
    return true;
}

static bool begin(struct build *b, struct err *e)
{
    struct history *h = &b->t->history;
    const struct scenario *s = &b->t->scenario;

    b->load_ns = scenario_load_ns(s);
    b->run_ns = b->load_ns + s->drain_ns;
    h->version = HISTORY_VERSION;
    h->notes.reconnects = UINT64_MAX;
    h->plan.load_ns = h->plan.end_ns = b->load_ns;
    return build_kind(b, EVENT_LOAD, build_load, e) && build_kind(b, EVENT_RUN, build_run, e) &&
           build_processes(b, e) && build_kind(b, EVENT_TOKEN, build_token, e) &&
           build_kind(b, EVENT_CHANGE, build_change, e);
}

static bool observe(struct build *b, struct err *e)
{
    b->last_sample = calloc(STORY_PROCESSES_MAX, sizeof *b->last_sample);
    if (!b->last_sample)
        return err_memory(e);
    return build_kind(b, EVENT_LINE, build_line, e) && build_kind(b, EVENT_FAULT, build_fault, e) &&
           build_kind(b, EVENT_SESSION, build_session, e) &&
           build_kind(b, EVENT_SAMPLE, build_sample, e) &&
           build_kind(b, EVENT_LOOK, build_look, e) && build_kind(b, EVENT_PROBE, build_probe, e) &&
           build_kind(b, EVENT_FLUSH, build_probe, e) && build_kind(b, EVENT_STALL, build_stall, e);
}

// Finds out when the lines were written that do not say it.
static bool find_written(struct history *h, struct err *e)
{
    struct line_record *told = calloc(h->log.line_count + 1, sizeof *told);
    struct line_record *lines = h->log.lines;

    if (!told)
        return err_memory(e);
    if (lines)
        memcpy(told, lines, h->log.line_count * sizeof *told);
    for (size_t i = 0; i < h->log.line_count; i++)
        lines[i].seen_ns = 0; // so that it is guessed
    h->ledger.log = &h->log;
    h->ledger.faults = h->faults;
    h->ledger.fault_count = h->plan.fault_count;
    ledger_guess_written(&h->ledger);
    for (size_t i = 0; i < h->log.line_count; i++) {
        if (told[i].seen_ns)
            lines[i].seen_ns = clock_min(told[i].seen_ns, lines[i].read_ns);
        if (told[i].empty_ns || lines[i].empty_ns > lines[i].seen_ns)
            lines[i].empty_ns = clock_min(
                told[i].empty_ns ? told[i].empty_ns : lines[i].empty_ns, lines[i].seen_ns);
    }
    free(told);
    return true;
}

static bool settle(struct build *b, struct err *e)
{
    struct history *h = &b->t->history;
    struct ledger told = h->ledger;

    if (!ledger_init(&h->ledger, &b->t->scenario, &h->plan, e))
        return false;
    struct ledger *l = &h->ledger;
    l->txns = h->load.records;
    l->session_count = told.session_count;
    l->probe_count = told.probe_count;
    l->flush_count = told.flush_count;
    l->starved_count = told.starved_count;
    l->strangers = told.strangers;
    l->start_ns = STORY_START_NS;
    l->load_end_ns = STORY_START_NS + b->load_ns;
    l->drain_end_ns = STORY_START_NS + b->run_ns;
    for (uint32_t i = 0; i < b->count; i++) {
        const struct event *event = &b->events[i];
        for (uint32_t t = event->first;
             event->kind == EVENT_TOKEN && event->value[SLOT_THERE] && t <= event->last; t++)
            l->tokens[t].flags |= TOKEN_SETTLED;
    }
    story_settle_rows(l->tokens, h, NULL);
    if (!find_written(h, e))
        return false;
    return build_kind(b, EVENT_ROW, build_row, e) &&
           build_kind(b, EVENT_ATTEMPT, build_attempt, e) && history_join(h, e);
}

bool story_build(
    struct told *t, const struct event *events, size_t count, struct node *root, struct err *e)
{
    struct build b = {.t = t, .events = events, .count = count, .root = root};

    b.kind = calloc(count + 1, sizeof *b.kind);
    bool ok = (b.kind || err_memory(e)) && add_specs(&b, e) &&
              scenario_make(&t->scenario, root, e) && begin(&b, e) && observe(&b, e) &&
              settle(&b, e);
    free(b.kind);
    free(b.last_sample);
    return ok;
}
