// From a history to events and their text.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "plan/names.h"
#include "story/write.h"

// --- events ---------------------------------------------------------------------------------

// Takes away what a reader fills in by itself.
static void spare(const struct writer *w, struct event *event)
{
    for (int turn = 0; turn < 2 && !w->explain; turn++) {
        for (enum slot slot = SLOTS; slot-- > 0;) {
            struct event less = *event, full;
            if (!event_has(event, slot))
                continue;
            less.given &= ~(UINT64_C(1) << slot);
            full = less;
            event_complete(&full, run_ns(w), &w->log);
            if (event_has(&full, slot) && full.value[slot] == event->value[slot])
                *event = less;
        }
    }
}

static int64_t order_of(const struct event *event)
{
    switch (event->kind) {
    case EVENT_TOKEN:
        return event->value[SLOT_AT] == CLOCK_NEVER ? event->value[SLOT_DUE]
                                                    : event->value[SLOT_AT];
    case EVENT_CHANGE:
    case EVENT_LINE:
    case EVENT_SESSION:
        return event->value[SLOT_AT];
    case EVENT_FAULT:
        return event->value[SLOT_PLANNED];
    default:
        return event->kind <= EVENT_PROCESS ? INT64_MIN : INT64_MAX;
    }
}

// Ends the text of an event that began at `from`.
static void end_piece(struct writer *w, int64_t ns, size_t from)
{
    buf_append_char(w->out, '\n');
    if (!array_grow(&w->pieces, w->piece_count, 1, sizeof *w->pieces)) {
        w->failed = true;
        return;
    }
    w->pieces[w->piece_count] = (struct piece){ns, w->piece_count, from, w->out->len - from};
    w->piece_count++;
}

void write_event(struct writer *w, struct event *event)
{
    size_t from = w->out->len;
    int64_t ns = order_of(event);

    spare(w, event);
    event_write(event, w->out);
    end_piece(w, ns, from);
}

// True when each collector is one process that lives from a second before the load to the end.
static bool is_usual(const struct writer *w)
{
    const struct subject_log *log = &w->h->log;
    bool usual = log->process_count == (size_t)w->s->collector.instances;

    for (size_t i = 0; usual && i < log->process_count; i++) {
        const struct process_record *p = &log->processes[i];
        usual = p->instance == (int)i && p->started_ns == w->l->start_ns - NS_PER_S && p->asked &&
                p->ended_ns == w->l->drain_end_ns + 10 * NS_PER_MS && p->status == 0 &&
                p->left == PROCESS_LEFT_UNKNOWN && w->process_no[i] != DROPPED;
    }
    return usual;
}

static void tell_process(struct writer *w, size_t i)
{
    const struct process_record *p = &w->h->log.processes[i];
    struct event event = {.kind = EVENT_PROCESS};
    bool to_the_end = p->ended_ns == w->l->drain_end_ns + 10 * NS_PER_MS;

    if (w->process_no[i] == DROPPED)
        return;
    event.first = event.last = w->process_no[i];
    record_tell(RECORD_PROCESS, p, &event, w->l->start_ns);
    if (p->status & 0x7f)
        event_set(&event, SLOT_SIGNAL, p->status & 0x7f);
    if (p->status >> 8 || (!(p->status & 0x7f) && !to_the_end))
        event_set(&event, SLOT_EXIT, p->status >> 8 & 0xff);
    if (p->left != PROCESS_LEFT_UNKNOWN)
        event_set(&event, SLOT_LEFT, p->left);
    if (p->left == PROCESS_LEFT_SOME)
        set_time(w, &event, SLOT_LEFT_OUT, p->left_ns);
    write_event(w, &event);
}

static void tell_txn(struct writer *w, size_t i)
{
    const struct plan_txn *txn = &w->h->plan.txns[i];
    const struct txn_record *r = &w->l->txns[i];
    uint32_t end = txn->first_token + txn->rows;

    // Tokens of one kind that follow each other are one event.
    for (uint32_t t = txn->first_token, next; t < end; t = next) {
        struct event event = {.kind = EVENT_TOKEN, .first = w->token_no[t]};
        for (next = t + 1; next < end && w->token_no[next] != DROPPED &&
                           w->h->plan.kinds[next] == w->h->plan.kinds[t];
             next++)
            ;
        if (w->token_no[t] == DROPPED)
            continue;
        event.last = w->token_no[next - 1];
        event_set(&event, SLOT_DUE, txn->at_ns);
        record_tell(RECORD_TXN, r, &event, w->l->start_ns);
        event_set(&event, SLOT_KIND, w->h->plan.kinds[t]);
        event_set(&event, SLOT_THERE, (w->l->tokens[t].flags & TOKEN_SETTLED) != 0);
        event_set(&event, SLOT_BACKLOG, (txn->flags & TXN_BACKLOG) != 0);
        write_event(w, &event);
    }
}

static void tell_change(struct writer *w, size_t i)
{
    const struct plan_change *c = &w->h->plan.changes[i];
    const struct change_record *r = &w->l->changes[i];
    struct event event = {.kind = EVENT_CHANGE, .first = w->token_no[c->token]};

    if (event.first == DROPPED || r->sent_ns == 0)
        return;
    event.last = event.first;
    event_set(&event, SLOT_KIND, c->kind);
    record_tell(RECORD_CHANGE, r, &event, w->l->start_ns);
    write_event(w, &event);
}

bool write_follows(const struct event *item, const struct event *next)
{
    struct event moved = *next;

    moved.first = item->first;
    moved.last = item->last;
    return item->first != NUMBER_NONE && next->first == item->last + 1 &&
           moved.given == item->given && memcmp(moved.value, item->value, sizeof moved.value) == 0;
}

static struct event item_of(const struct writer *w, const struct delivery *d)
{
    struct event item = {.kind = EVENT_ITEM};

    item.first = d->token < w->h->plan.token_count ? w->token_no[d->token] : NUMBER_NONE;
    item.last = item.first;
    event_set(&item, SLOT_FORGED, (d->flags & DELIVERY_FORGED) != 0);
    event_set(&item, SLOT_NAMED, (d->flags & DELIVERY_NAMED) != 0);
    event_set(&item, SLOT_REFUSED, (d->flags & DELIVERY_REFUSED) != 0);
    event_set(&item, SLOT_OLD_NAME, d->before_rename);
    if (d->reply != REPLY_NONE)
        record_tell(RECORD_DELIVERY, d, &item, w->l->start_ns);
    spare(w, &item);
    return item;
}

// *delivery is the first delivery that belongs to no line before.
static void tell_line(struct writer *w, size_t i, size_t *delivery)
{
    const struct subject_log *log = &w->h->log;
    struct event event = {.kind = EVENT_LINE}, item = {0};
    const char *before = ":";
    size_t from = w->out->len;

    record_tell(RECORD_LINE, &log->lines[i], &event, w->l->start_ns);
    event_set(&event, SLOT_BY, w->process_no[log->lines[i].process]);
    if (!w->explain && log->lines[i].empty_ns == w->guessed[i].empty_ns)
        event.given &= ~(UINT64_C(1) << SLOT_EMPTY);
    if (!w->explain && log->lines[i].seen_ns == w->guessed[i].seen_ns)
        event.given &= ~(UINT64_C(1) << SLOT_SEEN);
    spare(w, &event);
    if (w->line_kept[i])
        event_write(&event, w->out);
    for (; *delivery < log->delivery_count && log->deliveries[*delivery].line == i; ++*delivery) {
        struct event next = item_of(w, &log->deliveries[*delivery]);
        if (!w->line_kept[i])
            continue;
        if (*before != ':' && write_follows(&item, &next)) {
            item.last = next.last;
            continue;
        }
        if (*before != ':')
            event_write(&item, w->out);
        else
            buf_append_str(w->out, before);
        before = "";
        item = next;
    }
    if (*before != ':')
        event_write(&item, w->out);
    if (w->line_kept[i])
        end_piece(w, order_of(&event), from);
}

// Writes a fault with its map, or with the number of the fault before that has the same.
static void tell_fault(struct writer *w, size_t i, uint32_t *numbers, uint32_t *count)
{
    const struct fault_record *r = &w->l->faults[i];
    size_t spec = (size_t)(r->spec - w->s->faults);
    struct event event = {.kind = EVENT_FAULT, .first = NUMBER_NONE};
    struct buf map;
    int64_t felt_ns = w->s->recovery_limit_ns;

    if (!is_inside(w, r->planned_ns, (r->ended_ns ? r->ended_ns : r->planned_ns) + felt_ns))
        return;
    buf_init(&map, 4096);
    scenario_write_fault(r->spec, &map);
    if (numbers[spec] == DROPPED) {
        event.text = buf_str(&map);
        numbers[spec] = *count;
    } else {
        event.first = event.last = numbers[spec];
    }
    ++*count;
    record_tell(RECORD_FAULT, r, &event, w->l->start_ns);
    if (!r->left_known)
        event.given &= ~(UINT64_C(1) << SLOT_LEFT);
    write_event(w, &event);
    buf_fini(&map);
}

static bool tell_faults(struct writer *w)
{
    uint32_t *numbers = calloc(w->s->fault_count + 1, sizeof *numbers), count = 0;

    for (size_t i = 0; numbers && i < w->s->fault_count; i++)
        numbers[i] = DROPPED;
    for (size_t i = 0; numbers && i < w->l->fault_count; i++)
        tell_fault(w, i, numbers, &count);
    free(numbers);
    return numbers;
}

static void tell_load(struct writer *w)
{
    struct event event = {.kind = EVENT_LOAD};
    int64_t load_ns = w->l->load_end_ns - w->l->start_ns;

    if (w->explain || load_ns != scenario_load_ns(w->s))
        event_set(&event, SLOT_UNTIL, load_ns);
    if (w->explain || w->h->load.refused)
        event_set(&event, SLOT_FAILED, (int64_t)w->h->load.refused);
    if (w->explain || w->h->load.stalls.longest_ns)
        event_set(&event, SLOT_STALLED, w->h->load.stalls.longest_ns);
    if (event.given)
        write_event(w, &event);
}

static void tell_run(struct writer *w)
{
    struct event event = {.kind = EVENT_RUN};
    const struct history_notes *n = &w->h->notes;
    char why[sizeof n->gave_up];
    int64_t usual_ns = w->l->load_end_ns - w->l->start_ns + w->s->drain_ns;

    if (w->explain || run_ns(w) != usual_ns)
        event_set(&event, SLOT_UNTIL, run_ns(w));
    if (n->interrupted)
        event_set(&event, SLOT_INTERRUPTED, 1);
    if (w->explain || n->others_share > 0)
        event_set(&event, SLOT_OTHERS, (int64_t)(n->others_share * 1e6 + 0.5));
    if (w->l->logs != LOGS_UNREAD)
        event_set(&event, SLOT_TOLD, w->l->logs);
    if (w->l->strangers > 0)
        event_set(&event, SLOT_STRANGERS, (int64_t)w->l->strangers);
    snprintf(why, sizeof why, "%s", n->gave_up);
    for (char *p = why; *p; p++)
        *p = *p == '"' ? '\'' : *p;
    if (*why) {
        event.text = why;
        event_set(&event, SLOT_TEXT, 1);
    }
    if (event.given)
        write_event(w, &event);
}

// --- all of it ------------------------------------------------------------------------------

static void tell_numbers(const struct writer *w)
{
    char login[NAMES_MAX];

    for (uint32_t t = 0; w->part && t < w->h->plan.token_count; t++) {
        if (w->token_no[t] == DROPPED || (t > 0 && w->token_no[t - 1] != DROPPED))
            continue;
        names_login(login, t);
        buf_printf(w->out, "# token %u was %s\n", w->token_no[t], login);
    }
}

static int by_time(const void *a, const void *b)
{
    const struct piece *x = a, *y = b;

    return x->ns != y->ns ? (x->ns > y->ns) - (x->ns < y->ns)
                          : (x->number > y->number) - (x->number < y->number);
}

static bool tell_events(struct writer *w)
{
    const struct subject_log *log = &w->h->log;
    size_t delivery = 0;
    bool ok = true;

    tell_load(w);
    tell_run(w);
    for (size_t i = 0; i < log->process_count && (w->explain || !is_usual(w)); i++)
        tell_process(w, i);
    for (size_t i = 0; i < w->h->plan.txn_count; i++)
        tell_txn(w, i);
    for (size_t i = 0; w->l->changes && i < w->h->plan.change_count; i++)
        tell_change(w, i);
    ok = tell_faults(w) && ok;
    write_sessions(w);
    for (size_t i = 0; i < log->line_count; i++)
        tell_line(w, i, &delivery);
    write_samples(w);
    write_looks(w);
    write_probes(w, EVENT_PROBE, w->l->probes, w->l->probe_count);
    write_probes(w, EVENT_FLUSH, w->l->flushes, w->l->flush_count);
    write_stalls(w);
    write_presence(w);
    ok = write_rows(w) && ok;
    write_attempts(w);
    return ok && !w->failed && !w->out->failed;
}

static bool tell_all(struct writer *w)
{
    struct buf events, *out = w->out;

    tell_numbers(w);
    bool ok = write_scenario(w);
    buf_init(&events, out->max);
    w->out = &events;
    ok = tell_events(w) && ok;
    w->out = out;
    if (w->piece_count > 0)
        qsort(w->pieces, w->piece_count, sizeof *w->pieces, by_time);
    for (size_t i = 0; ok && i < w->piece_count; i++)
        buf_append(out, events.data + w->pieces[i].from, w->pieces[i].len);
    buf_fini(&events);
    return ok && !out->failed;
}

bool story_write(const struct scenario *s, const struct history *h, const struct part *part,
    bool explain, struct buf *out)
{
    struct writer w = {
        .s = s, .h = h, .l = &h->ledger, .part = part, .explain = explain, .out = out};

    w.token_no = calloc(h->plan.token_count + 1, sizeof *w.token_no);
    w.process_no = calloc(h->log.process_count + 1, sizeof *w.process_no);
    w.guessed = calloc(h->log.line_count + 1, sizeof *w.guessed);
    w.line_kept = calloc(h->log.line_count + 1, sizeof *w.line_kept);
    w.log.processes = calloc(h->log.process_count + 1, sizeof *w.log.processes);
    w.log.samples = calloc(h->log.process_count + 1, sizeof *w.log.samples);
    bool ok =
        w.guessed && w.token_no && w.process_no && w.line_kept && w.log.processes && w.log.samples;
    if (ok) {
        write_pick(&w);
        ok = tell_all(&w);
    }
    free(w.token_no);
    free(w.process_no);
    free(w.guessed);
    free(w.line_kept);
    free(w.log.processes);
    free(w.log.samples);
    free(w.pieces);
    return ok;
}
