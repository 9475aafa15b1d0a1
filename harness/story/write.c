// From a history to events and their text.
//
// Each record becomes an event in which all words are given. Then the words are dropped whose value
// is the default. To know which these are, the event is completed without the word by the same
// code as in the reader, and compared. There is no second table of defaults that could differ.
//
// A history keeps its records kind by kind, and people read a story in the order of time. So the
// text is written kind by kind, too, and its pieces are sorted. Sorting events instead would need
// 600 bytes of memory for each.
#include "plan/names.h"
#include "story/event.h"

// --- events ---------------------------------------------------------------------------------

// Returns the time by which an event is sorted in the text. What holds for the whole run comes
// first, what was measured or stands in the tables comes last.
static int64_t write_sort_key(const struct event *event)
{
    switch (event->kind) {
    case EVENT_TOKEN:
        return event->token.record.sent_ns ? event->token.record.sent_ns : event->token.due_ns;
    case EVENT_CHANGE:
    case EVENT_FAULT:
    case EVENT_SESSION:
    case EVENT_LINE:
        return event_time(event);
    default:
        return event->kind <= EVENT_PROCESS ? INT64_MIN : INT64_MAX;
    }
}

// Ends the text of an event that began at `from`.
static void end_piece(struct writer *w, int64_t ns, size_t from)
{
    buf_append_char(w->out, '\n');
    memory_grow(&w->pieces, w->piece_count, 1, sizeof *w->pieces);
    w->pieces[w->piece_count++] = (struct piece){ns, from, w->out->len - from};
}

struct event write_event_of(const struct writer *w, enum event_kind kind, const void *record)
{
    struct event event = {.kind = kind};

    event_set_all(&event);
    memcpy(event.record, record, vocabulary[kind].size);
    event_shift(&event, STORY_START_NS - w->l->start_ns, true); // true: all of its times
    return event;
}

void write_drop_defaults(const struct writer *w, struct event *event)
{
    if (!w->explain)
        event_drop_defaults(event, &w->defaults);
}

void write_event_at(struct writer *w, const struct event *event, int64_t ns)
{
    size_t from = w->out->len;

    event_write(event, w->out);
    end_piece(w, ns, from);
}

void write_event(struct writer *w, struct event *event)
{
    int64_t ns = write_sort_key(event);

    write_drop_defaults(w, event);
    // `load` and `run` have no numbers, so without words they say nothing.
    if (event->given || (event->kind != EVENT_LOAD && event->kind != EVENT_RUN))
        write_event_at(w, event, ns);
}

// --- what holds for the whole run -----------------------------------------------------------

static void write_load(struct writer *w)
{
    const struct load_result *load = &w->h->load;
    struct event event = {.kind = EVENT_LOAD};

    event_set_all(&event);
    event.load.until_ns = STORY_START_NS + w->l->load_end_ns - w->l->start_ns;
    event.load.refused = load->refused;
    event.load.stalled_ns = load->stalls.longest_ns;
    write_event(w, &event);
}

static void write_run(struct writer *w)
{
    struct event event = {.kind = EVENT_RUN};
    const struct history_notes *n = &w->h->notes;
    char why[sizeof n->gave_up];

    event_set_all(&event);
    event.run.until_ns = STORY_START_NS + w->l->drain_end_ns - w->l->start_ns;
    event.run.interrupted = n->interrupted;
    event.run.others = (int64_t)(n->others_share * 1e6 + 0.5);
    event.run.strangers = w->l->strangers;
    event.run.logs = w->l->logs;
    event.run.reconnects = n->reconnects;
    // Reconnects are counted for a whole run only, and in an old run they were not counted.
    if (w->part || n->reconnects == UINT64_MAX)
        event_unset(&event, "reconnects");
    snprintf(why, sizeof why, "%s", n->gave_up);
    for (char *p = why; *p; p++)
        // A quotation mark would end the text for the reader.
        *p = *p == '"' ? '\'' : *p;
    event.text = why;
    if (!*why)
        event_unset(&event, "gave-up");
    write_event(w, &event);
}

// True when the processes are those that a story without a process event has: one for each
// collector, from a second before the load to the end.
static bool has_default_processes(const struct writer *w)
{
    const struct subject_log *log = &w->h->log;
    bool all_default = log->process_count == (size_t)w->s->collector.instances;

    for (size_t i = 0; all_default && i < log->process_count; i++) {
        const struct process_record *p = &log->processes[i];
        all_default = p->instance == (int)i && p->started_ns == w->l->start_ns - NS_PER_S &&
                      p->asked && p->ended_ns == w->l->drain_end_ns + END_GRACE_NS &&
                      p->status == 0 && p->left == PROCESS_LEFT_UNKNOWN &&
                      w->process_no[i] != DROPPED;
    }
    return all_default;
}

// --- tokens and lines -------------------------------------------------------------------------

// Writes the kept tokens of a transaction.
static void write_txn(struct writer *w, size_t i)
{
    const struct plan_txn *txn = &w->h->plan.txns[i];
    const uint8_t *kinds = w->h->plan.kinds;
    uint32_t end = txn->first_token + txn->rows;

    // Tokens of one kind whose numbers follow each other are one event.
    for (uint32_t t = txn->first_token, next; t < end; t = next) {
        next = t + 1;
        if (w->token_no[t] == DROPPED)
            continue;
        while (next < end && w->token_no[next] != DROPPED && kinds[next] == kinds[t])
            next++;
        struct event event = write_event_of(w, EVENT_TOKEN, &w->l->txns[i]);
        event.first = w->token_no[t];
        event.last = w->token_no[next - 1];
        event.token.due_ns = STORY_START_NS + txn->at_ns;
        event.token.kind = kinds[t];
        event.token.settled = (w->l->tokens[t].flags & TOKEN_SETTLED) != 0;
        event.token.backlog = (txn->flags & TXN_BACKLOG) != 0;
        write_event(w, &event);
    }
}

// Writes the tokens `first` to `last`, which are not kept, as `unneeded`. A reader accepts no gap
// between the numbers of tokens.
static void write_gap(struct writer *w, uint32_t first, uint32_t last)
{
    const struct txn_record none = {.outcome = TXN_NOT_NEEDED};

    for (uint32_t next; first <= last; first = next) {
        struct event event = write_event_of(w, EVENT_TOKEN, &none);
        // One event has at most UINT16_MAX tokens.
        next = last - first < UINT16_MAX ? last + 1 : first + UINT16_MAX;
        event.first = first;
        event.last = next - 1;
        event.token.due_ns = STORY_START_NS + w->h->plan.txns[w->l->txn_of[first]].at_ns;
        write_event(w, &event);
    }
}

// Writes the tokens that are not kept, up to the last kept one, as `unneeded` (write_gap). Tokens
// with new numbers have no gaps between them.
static void write_gaps(struct writer *w)
{
    uint32_t after = 0; // the first token that is not written yet

    for (uint32_t t = 0; write_keeps_numbers(w) && t < w->h->plan.token_count; t++) {
        if (w->token_no[t] == DROPPED)
            continue;
        if (t > after)
            write_gap(w, after, t - 1);
        after = t + 1;
    }
}

// Returns a delivery as an item of a line, without the words that have their default.
static struct event item_of(const struct writer *w, const struct delivery *d)
{
    struct event item = write_event_of(w, EVENT_ITEM, d);

    // A token that the plan does not have is written without a number.
    item.first = d->token < w->h->plan.token_count ? w->token_no[d->token] : NUMBER_NONE;
    item.last = item.first;
    write_drop_defaults(w, &item);
    return item;
}

// Writes the items of a line, which has `count` deliveries from `d` on, at least one. Deliveries
// that follow each other and say the same become one item.
static void write_items(struct writer *w, const struct delivery *d, size_t count)
{
    struct event item = item_of(w, d);

    for (size_t i = 1; i < count; i++) {
        struct event next = item_of(w, &d[i]);
        if (event_follows(&item, &next)) {
            item.last = next.last;
            continue;
        }
        event_write(&item, w->out);
        item = next;
    }
    event_write(&item, w->out);
}

// Writes line i if it is kept. *delivery is the index of its first delivery; it moves on to the
// first one of the next line.
static void write_line(struct writer *w, size_t i, size_t *delivery)
{
    const struct subject_log *log = &w->h->log;
    const struct line_record *line = &log->lines[i];
    struct event event = write_event_of(w, EVENT_LINE, line);
    size_t from = w->out->len, first = *delivery;

    while (*delivery < log->delivery_count && log->deliveries[*delivery].line == i)
        ++*delivery;
    if (!w->line_kept[i])
        return;
    event.line.process = w->process_no[line->process];
    // The reader guesses each of the two times that is missing (build.c). So only a time that
    // differs from that guess is written.
    if (!w->explain && line->empty_ns == w->guessed[i].empty_ns)
        event_unset(&event, "empty");
    if (!w->explain && line->seen_ns == w->guessed[i].seen_ns)
        event_unset(&event, "seen");
    write_drop_defaults(w, &event);
    event_write(&event, w->out);
    if (*delivery > first) {
        buf_append_char(w->out, ':');
        write_items(w, &log->deliveries[first], *delivery - first);
    }
    end_piece(w, event.line.read_ns, from);
}

// --- the whole story ------------------------------------------------------------------------

// Says in comments which token of the run each number stands for, if the numbers are new ones.
static void write_what_numbers_mean(const struct writer *w)
{
    char login[NAMES_MAX];

    for (uint32_t t = 0; !write_keeps_numbers(w) && t < w->h->plan.token_count; t++) {
        // Of tokens that follow each other without a gap, only the first needs a comment.
        if (w->token_no[t] == DROPPED || (t > 0 && w->token_no[t - 1] != DROPPED))
            continue;
        names_login(login, t);
        buf_printf(w->out, "# token %u was %s\n", w->token_no[t], login);
    }
}

static int compare_pieces(const void *a, const void *b)
{
    const struct piece *x = a, *y = b;

    // Pieces with the same time keep the order of writing.
    return x->ns != y->ns ? (x->ns > y->ns) - (x->ns < y->ns)
                          : (x->from > y->from) - (x->from < y->from);
}

// Writes all events kind by kind; write_part sorts them by time.
static void write_events(struct writer *w)
{
    size_t delivery = 0;

    write_load(w);
    write_run(w);
    // A story that tells one process must tell all of them. If all are the default ones, it tells
    // none.
    if (w->explain || !has_default_processes(w))
        write_records(w, EVENT_PROCESS);
    for (size_t i = 0; i < w->h->plan.txn_count; i++)
        write_txn(w, i);
    write_gaps(w);
    write_records(w, EVENT_CHANGE);
    write_records(w, EVENT_FAULT);
    write_records(w, EVENT_SESSION);
    for (size_t i = 0; i < w->h->log.line_count; i++)
        write_line(w, i, &delivery);
    for (enum event_kind kind = EVENT_SAMPLE; kind < EVENT_ROW; kind++)
        write_records(w, kind);
    write_rows(w);
    write_records(w, EVENT_ATTEMPT);
}

// Writes what the numbers mean, the settings, and then the events in the order of time. False when
// the text does not fit the buffer, or the settings cannot be written.
static bool write_part(struct writer *w)
{
    struct buf events, *out = w->out;

    write_what_numbers_mean(w);
    bool ok = write_scenario(w);
    buf_init(&events, out->max);
    w->out = &events;
    write_events(w);
    w->out = out;
    ok = ok && !events.failed;
    if (w->piece_count > 0)
        qsort(w->pieces, w->piece_count, sizeof *w->pieces, compare_pieces);
    for (size_t i = 0; ok && i < w->piece_count; i++)
        buf_append(out, events.data + w->pieces[i].from, w->pieces[i].len);
    buf_fini(&events);
    return ok && !out->failed;
}

bool story_write(const struct scenario *s, const struct history *h, struct part *part, bool explain,
    struct buf *out)
{
    struct writer w = {
        .s = s, .h = h, .l = &h->ledger, .part = part, .explain = explain, .out = out};

    w.token_no = memory_zeroed(h->plan.token_count, sizeof *w.token_no);
    w.process_no = memory_zeroed(h->log.process_count, sizeof *w.process_no);
    w.fault_no = memory_allocate(s->fault_count * sizeof *w.fault_no);
    w.guessed = memory_zeroed(h->log.line_count, sizeof *w.guessed);
    w.line_kept = memory_zeroed(h->log.line_count, sizeof *w.line_kept);
    w.log.processes = memory_zeroed(h->log.process_count, sizeof *w.log.processes);
    buf_init(&w.map, 4096);
    w.defaults = (struct default_context){
        .load_ns = scenario_load_ns(s), .run_ns = scenario_load_ns(s) + s->drain_ns, .log = &w.log};
    for (size_t i = 0; i < s->fault_count; i++)
        w.fault_no[i] = DROPPED;
    write_pick(&w);
    if (part)
        part->number = w.token_no[part->token];
    bool ok = write_part(&w);
    free(w.token_no);
    free(w.process_no);
    free(w.fault_no);
    buf_fini(&w.map);
    free(w.guessed);
    free(w.line_kept);
    free(w.log.processes);
    free(w.pieces);
    return ok;
}
