// From events to a scenario and a history.
#include "story/build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void *build_append(void *items, size_t *count, size_t size, struct err *e)
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
    b->t->history.ledger.logs = (enum logs)event->value[SLOT_TOLD];
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
    struct process_record *p = build_append(&log->processes, &log->process_count, sizeof *p, e);
    if (!p)
        return false;
    record_fill(RECORD_PROCESS, p, &event);
    p->pid = 100 + (int)told->first;
    p->status = (int)(event.value[SLOT_EXIT] << 8 | event.value[SLOT_SIGNAL]);
    p->left = (enum process_left)event.value[SLOT_LEFT];
    if (p->left == PROCESS_LEFT_SOME) {
        p->left_ns = at(&event, SLOT_LEFT_OUT);
        snprintf(p->litter, sizeof p->litter, "a process");
    }
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
    struct plan_txn *txn = build_append(&h->plan.txns, &h->plan.txn_count, sizeof *txn, e);
    struct txn_record *r = txn ? build_append(&h->load.records, &records, sizeof *r, e) : NULL;
    if (!r || !array_grow(&h->plan.kinds, h->plan.token_count, rows, 1))
        return err_memory(e);
    memset(h->plan.kinds + h->plan.token_count, (int)event.value[SLOT_KIND], rows);
    h->plan.token_count += rows;
    *txn = (struct plan_txn){.at_ns = event.value[SLOT_DUE],
        .first_token = told->first,
        .rows = (uint16_t)rows,
        .phase = phase_at(&b->t->scenario, event.value[SLOT_DUE]),
        .flags = event.value[SLOT_BACKLOG] ? TXN_BACKLOG : 0};
    record_fill(RECORD_TXN, r, &event);
    return true;
}

bool build_want_token(const struct build *b, const struct event *event, struct err *e)
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

    if (!build_want_token(b, told, e))
        return false;
    if (!event_has(told, SLOT_KIND) || !event_has(told, SLOT_AT))
        return origin_err(&told->origin, e, "say what changes and when: 'change 4 suspend at 30'");
    for (size_t i = 0; i < records; i++)
        if (h->plan.changes[i].token == told->first)
            return origin_err(&told->origin, e, "a token changes once");
    event_complete(&event, b->run_ns, NULL);
    struct plan_change *c = build_append(&h->plan.changes, &h->plan.change_count, sizeof *c, e);
    struct change_record *r = c ? build_append(&h->load.changes, &records, sizeof *r, e) : NULL;
    if (!r)
        return false;
    *c = (struct plan_change){.at_ns = event.value[SLOT_AT],
        .token = told->first,
        .kind = (uint8_t)event.value[SLOT_KIND]};
    record_fill(RECORD_CHANGE, r, &event);
    return true;
}

static bool build_item(struct build *b, const struct event *told, struct line_record *line,
    uint32_t number, struct err *e)
{
    struct subject_log *log = &b->t->history.log;
    struct event item = *told;

    event_complete(&item, b->run_ns, NULL);
    if (told->first != NUMBER_NONE && !build_want_token(b, told, e))
        return false;
    for (uint32_t token = told->first;; token++) {
        if (log->delivery_count >= STORY_TOKENS_MAX)
            return origin_err(&told->origin, e, "at most %u tokens in lines", STORY_TOKENS_MAX);
        struct delivery *d = build_append(&log->deliveries, &log->delivery_count, sizeof *d, e);
        if (!d)
            return false;
        *d = (struct delivery){.token = token,
            .line = number,
            .before_rename = item.value[SLOT_OLD_NAME] != 0,
            .flags = (item.value[SLOT_FORGED] ? DELIVERY_FORGED : 0u) |
                     (item.value[SLOT_NAMED] ? DELIVERY_NAMED : 0u) |
                     (item.value[SLOT_REFUSED] ? DELIVERY_REFUSED : 0u)};
        record_fill(RECORD_DELIVERY, d, &item);
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
    struct line_record line = {.first_delivery = (uint32_t)log->delivery_count};
    record_fill(RECORD_LINE, &line, &event);
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
    struct line_record *kept = build_append(&log->lines, &log->line_count, sizeof *kept, e);
    if (!kept)
        return false;
    *kept = line;
    log->processes[line.process].lines++;
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
    case EVENT_HOLD:
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
           build_kind(b, EVENT_FLUSH, build_probe, e) &&
           build_kind(b, EVENT_STALL, build_stall, e) &&
           build_kind(b, EVENT_PRESENCE, build_presence, e) &&
           build_kind(b, EVENT_HOLD, build_hold, e);
}

// Finds out when the lines were written that do not say it.
static bool find_written(struct history *h, struct err *e)
{
    struct line_record *lines = h->log.lines;
    size_t count = lines ? h->log.line_count : 0;
    struct line_record *told = calloc(count + 1, sizeof *told);

    if (!told)
        return err_memory(e);
    if (count > 0)
        memcpy(told, lines, count * sizeof *told);
    for (size_t i = 0; i < count; i++)
        lines[i].seen_ns = 0; // so that it is guessed
    h->ledger.log = &h->log;
    h->ledger.faults = h->faults;
    h->ledger.fault_count = h->plan.fault_count;
    ledger_guess_written(&h->ledger);
    for (size_t i = 0; i < count; i++) {
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
    l->logs = told.logs;
    l->look_count = told.look_count;
    l->hold_count = told.hold_count;
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
    bool ok = (b.kind || err_memory(e)) && build_specs(&b, e) &&
              scenario_make(&t->scenario, root, e) && begin(&b, e) && observe(&b, e) &&
              settle(&b, e);
    free(b.kind);
    free(b.last_sample);
    return ok;
}
