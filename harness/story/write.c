// From a history to events and their text.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "plan/names.h"
#include "scenario/parse.h"
#include "story/inside.h"

#define DROPPED UINT32_MAX // the new number of what is not written

// The text of one event. Events are written in the order of time; before them what lasts, and
// behind them what was measured and what the tables hold.
struct piece {
    int64_t ns;
    size_t number, from, len;
};

struct writer {
    const struct scenario *s;
    const struct history *h;
    const struct ledger *l;
    const struct part *part; // NULL: everything
    bool explain;
    struct subject_log log; // the processes with their new numbers, for the default of `by`
    uint32_t *token_no, *process_no;
    bool *line_kept;
    struct line_record *guessed; // when each line was written, if nobody says it
    struct buf *out;
    struct piece *pieces;
    size_t piece_count;
    bool failed;
};

static int64_t from_start(const struct writer *w, int64_t ns)
{
    return ns == 0 || ns == CLOCK_NEVER ? CLOCK_NEVER : ns - w->l->start_ns;
}

static bool is_inside(const struct writer *w, int64_t from_ns, int64_t until_ns)
{
    return !w->part || (from_ns <= w->part->until_ns && until_ns >= w->part->from_ns);
}

// --- what is written ------------------------------------------------------------------------

// True when the transaction touches the part: it was planned, sent or answered within it.
static bool txn_inside(const struct writer *w, size_t txn)
{
    const struct txn_record *r = &w->l->txns[txn];
    int64_t due_ns = w->l->start_ns + w->h->plan.txns[txn].at_ns;

    return is_inside(w, due_ns, due_ns) || (r->sent_ns && is_inside(w, r->sent_ns, r->ended_ns));
}

// Keeps the tokens of the part, then all lines that hold one of them, then all tokens of these
// lines: so no token that is kept misses its line.
static void pick_tokens(struct writer *w)
{
    const struct plan *plan = &w->h->plan;
    const struct subject_log *log = &w->h->log;
    uint32_t count = 0;

    for (uint32_t t = 0; t < plan->token_count; t++)
        w->token_no[t] =
            (w->part && w->part->token == t) || txn_inside(w, w->l->txn_of[t]) ? 0 : DROPPED;
    for (size_t i = 0; i < log->line_count; i++)
        w->line_kept[i] = is_inside(w, log->lines[i].read_ns, log->lines[i].read_ns);
    for (size_t i = 0; i < log->delivery_count; i++) {
        const struct delivery *d = &log->deliveries[i];
        if (d->token < plan->token_count && w->token_no[d->token] != DROPPED)
            w->line_kept[d->line] = true;
    }
    for (size_t i = 0; i < log->delivery_count; i++) {
        const struct delivery *d = &log->deliveries[i];
        if (d->token < plan->token_count && w->line_kept[d->line])
            w->token_no[d->token] = 0;
    }
    for (uint32_t t = 0; t < plan->token_count; t++)
        if (w->token_no[t] != DROPPED)
            w->token_no[t] = count++;
}

// Keeps the processes that live during the part, and those that wrote a kept line.
static void pick_processes(struct writer *w)
{
    const struct subject_log *log = &w->h->log;
    bool *wrote = (bool *)w->log.samples; // room for one bool a process

    for (size_t i = 0; i < log->line_count; i++)
        if (w->line_kept[i])
            wrote[log->lines[i].process] = true;
    for (size_t i = 0; i < log->process_count; i++) {
        const struct process_record *p = &log->processes[i];
        w->process_no[i] = DROPPED;
        if (!wrote[i] && !is_inside(w, p->started_ns, p->ended_ns))
            continue;
        w->process_no[i] = (uint32_t)w->log.process_count;
        w->log.processes[w->log.process_count] = *p;
        w->log.processes[w->log.process_count].started_ns -= w->l->start_ns - STORY_START_NS;
        if (p->ended_ns != CLOCK_NEVER)
            w->log.processes[w->log.process_count].ended_ns -= w->l->start_ns - STORY_START_NS;
        w->log.process_count++;
    }
}

static void guess_written(struct writer *w)
{
    struct subject_log log = w->h->log;
    struct ledger l = *w->l;

    if (log.line_count > 0)
        memcpy(w->guessed, log.lines, log.line_count * sizeof *w->guessed);
    for (size_t i = 0; i < log.line_count; i++)
        w->guessed[i].seen_ns = 0;
    log.lines = w->guessed;
    l.log = &log;
    ledger_guess_written(&l);
}

// --- events ---------------------------------------------------------------------------------

static int64_t run_ns(const struct writer *w)
{
    return w->l->drain_end_ns - w->l->start_ns;
}

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

static void tell(struct writer *w, struct event *event)
{
    size_t from = w->out->len;
    int64_t ns = order_of(event);

    spare(w, event);
    event_write(event, w->out);
    end_piece(w, ns, from);
}

static void set_time(const struct writer *w, struct event *event, enum slot slot, int64_t ns)
{
    event_set(event, slot, from_start(w, ns));
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
                w->process_no[i] != DROPPED;
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
    event_set(&event, SLOT_INSTANCE, p->instance);
    set_time(w, &event, SLOT_FROM, p->started_ns);
    set_time(w, &event, SLOT_UNTIL, p->ended_ns);
    event_set(&event, SLOT_ASKED, p->asked);
    if (p->status & 0x7f)
        event_set(&event, SLOT_SIGNAL, p->status & 0x7f);
    if (p->status >> 8 || (!(p->status & 0x7f) && !to_the_end))
        event_set(&event, SLOT_EXIT, p->status >> 8 & 0xff);
    tell(w, &event);
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
        set_time(w, &event, SLOT_AT, r->sent_ns);
        set_time(w, &event, SLOT_COMMIT, r->commit_ns);
        set_time(w, &event, SLOT_ACK, r->ended_ns);
        event_set(&event, SLOT_OUTCOME, r->outcome);
        event_set(&event, SLOT_KIND, w->h->plan.kinds[t]);
        event_set(&event, SLOT_THERE, (w->l->tokens[t].flags & TOKEN_SETTLED) != 0);
        event_set(&event, SLOT_BACKLOG, (txn->flags & TXN_BACKLOG) != 0);
        tell(w, &event);
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
    set_time(w, &event, SLOT_AT, r->sent_ns);
    set_time(w, &event, SLOT_ACK, r->ended_ns);
    set_time(w, &event, SLOT_BACK, r->back_sent_ns);
    set_time(w, &event, SLOT_BACK_ACK, r->back_ended_ns);
    event_set(&event, SLOT_OUTCOME, r->outcome);
    tell(w, &event);
}

static struct event item_of(const struct writer *w, const struct delivery *d)
{
    struct event item = {.kind = EVENT_ITEM};

    item.first = d->token < w->h->plan.token_count ? w->token_no[d->token] : NUMBER_NONE;
    item.last = item.first;
    event_set(&item, SLOT_FORGED, (d->flags & DELIVERY_FORGED) != 0);
    event_set(&item, SLOT_NAMED, (d->flags & DELIVERY_NAMED) != 0);
    event_set(&item, SLOT_REFUSED, (d->flags & DELIVERY_REFUSED) != 0);
    if (d->reply != REPLY_NONE) {
        event_set(&item, SLOT_REPLY, d->reply);
        set_time(w, &item, SLOT_REPLIED, d->replied_ns);
    }
    spare(w, &item);
    return item;
}

static bool follows(const struct event *item, const struct event *next)
{
    struct event moved = *next;

    moved.first = item->first;
    moved.last = item->last;
    return item->first != NUMBER_NONE && next->first == item->last + 1 &&
           moved.given == item->given && memcmp(moved.value, item->value, sizeof moved.value) == 0;
}

// *delivery is the first delivery that belongs to no line before.
static void tell_line(struct writer *w, size_t i, size_t *delivery)
{
    const struct subject_log *log = &w->h->log;
    struct event event = {.kind = EVENT_LINE}, item = {0};
    const char *before = ":";
    size_t from = w->out->len;

    set_time(w, &event, SLOT_AT, log->lines[i].read_ns);
    event_set(&event, SLOT_BY, w->process_no[log->lines[i].process]);
    event_set(&event, SLOT_STATE, log->lines[i].state);
    if (w->explain || log->lines[i].empty_ns != w->guessed[i].empty_ns)
        set_time(w, &event, SLOT_EMPTY, log->lines[i].empty_ns);
    if (w->explain || log->lines[i].seen_ns != w->guessed[i].seen_ns)
        set_time(w, &event, SLOT_SEEN, log->lines[i].seen_ns);
    spare(w, &event);
    if (w->line_kept[i])
        event_write(&event, w->out);
    for (; *delivery < log->delivery_count && log->deliveries[*delivery].line == i; ++*delivery) {
        struct event next = item_of(w, &log->deliveries[*delivery]);
        if (!w->line_kept[i])
            continue;
        if (*before != ':' && follows(&item, &next)) {
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
    set_time(w, &event, SLOT_PLANNED, r->planned_ns);
    set_time(w, &event, SLOT_SOUGHT, r->sought_ns);
    set_time(w, &event, SLOT_STRUCK, r->began_ns);
    set_time(w, &event, SLOT_UNDONE, r->ended_ns);
    set_time(w, &event, SLOT_SERVED, r->served_ns);
    event_set(&event, SLOT_OK, r->ok);
    event_set(&event, SLOT_LEFT_OUT, r->left_out);
    if (r->left_known)
        set_time(w, &event, SLOT_LEFT, r->left_ns);
    tell(w, &event);
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

// --- what was measured ----------------------------------------------------------------------

static void tell_probes(
    struct writer *w, enum event_kind kind, const struct probe_sample *probes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct probe_sample *p = &probes[i];
        struct event event = {.kind = kind};
        int64_t took_ns = p->took_ns == CLOCK_NEVER ? 0 : p->took_ns;
        int64_t until_ns = p->due_ns + p->stall_ns + took_ns;
        // In a part, where the slack is set, only what may be a stall matters.
        if (w->part &&
            (!is_inside(w, p->due_ns, until_ns) ||
                (p->took_ns != CLOCK_NEVER && until_ns - p->due_ns <= w->part->slack_ns / 2)))
            continue;
        set_time(w, &event, SLOT_AT, p->due_ns);
        event_set(&event, SLOT_STALLED, p->stall_ns);
        event_set(&event, SLOT_TOOK, p->took_ns);
        tell(w, &event);
    }
}

static void tell_samples(struct writer *w)
{
    const struct subject_log *log = &w->h->log;
    struct process_sample *last = calloc(log->process_count + 1, sizeof *last);

    for (size_t i = 0; last && i < log->sample_count; i++) {
        const struct process_sample *s = &log->samples[i], *before = &last[s->process];
        struct event event = {.kind = EVENT_SAMPLE};
        if (w->process_no[s->process] == DROPPED ||
            !is_inside(w, s->at_ns - NS_PER_S, s->at_ns + NS_PER_S))
            continue;
        set_time(w, &event, SLOT_AT, s->at_ns);
        event_set(&event, SLOT_BY, w->process_no[s->process]);
        event_set(&event, SLOT_RSS, s->rss_kb);
        event_set(&event, SLOT_CPU, (int64_t)(s->cpu_ms - before->cpu_ms) * NS_PER_MS);
        event_set(&event, SLOT_WAKEUPS, (int64_t)(s->wakeups - before->wakeups));
        event_set(&event, SLOT_STARVED, (int64_t)(s->starved_us - before->starved_us) * NS_PER_US);
        last[s->process] = *s;
        tell(w, &event);
    }
    free(last);
}

static void tell_looks(struct writer *w)
{
    struct starved_sample before = {0};

    for (size_t i = 0; i < w->l->starved_count; i++) {
        const struct starved_sample *s = &w->l->starved[i];
        struct event event = {.kind = EVENT_LOOK};
        int64_t busy_ns = (int64_t)(s->busy_us - before.busy_us) * NS_PER_US;
        if (!is_inside(w, s->at_ns - NS_PER_S, s->at_ns + NS_PER_S))
            continue;
        set_time(w, &event, SLOT_AT, s->at_ns);
        event_set(
            &event, SLOT_WAITED, (int64_t)(s->collector_us - before.collector_us) * NS_PER_US);
        event_set(&event, SLOT_OWN, (int64_t)(s->own_us - before.own_us) * NS_PER_US);
        event_set(&event, SLOT_LOAD, (int64_t)(s->load_us - before.load_us) * NS_PER_US);
        event_set(&event, SLOT_RAN, (int64_t)(s->load_ran_us - before.load_ran_us) * NS_PER_US);
        if (w->explain || busy_ns != (before.at_ns ? 2 * (s->at_ns - before.at_ns) : 0))
            event_set(&event, SLOT_BUSY, busy_ns);
        before = *s;
        tell(w, &event);
    }
}

static void tell_sessions(struct writer *w)
{
    for (size_t i = 0; i < w->l->session_count; i++) {
        struct event event = {.kind = EVENT_SESSION};
        // The last one before the part is the session that was open.
        int64_t next_ns = i + 1 < w->l->session_count ? w->l->sessions[i + 1] : CLOCK_NEVER;
        if (!is_inside(w, w->l->sessions[i], next_ns))
            continue;
        set_time(w, &event, SLOT_AT, w->l->sessions[i]);
        tell(w, &event);
    }
}

static void tell_stalls(struct writer *w)
{
    const struct stalls *stalls = &w->h->notes.reader_stalls;

    for (size_t i = 0; i < stalls->kept_count; i++) {
        const struct stall *s = &stalls->kept[i];
        struct event event = {.kind = EVENT_STALL};
        if (w->part && (!is_inside(w, s->from_ns, s->until_ns) ||
                           s->until_ns - s->from_ns <= w->part->slack_ns / 2))
            continue;
        set_time(w, &event, SLOT_FROM, s->from_ns);
        set_time(w, &event, SLOT_UNTIL, s->until_ns);
        tell(w, &event);
    }
}

// --- what the tables hold -------------------------------------------------------------------

static bool differs(uint8_t a, uint8_t b, uint8_t flags)
{
    return (a & flags) != (b & flags);
}

static struct event row_of(const struct writer *w, uint32_t t, const struct ledger_token *usual)
{
    const struct ledger_token *token = &w->l->tokens[t];
    const int64_t soon_s = run_ns(w) / NS_PER_S + 60;
    struct event event = {.kind = EVENT_ROW, .first = w->token_no[t], .last = w->token_no[t]};

    if (w->explain || differs(token->flags, usual->flags, TOKEN_PRESENT))
        event_set(&event, SLOT_PRESENT, (token->flags & TOKEN_PRESENT) != 0);
    if (w->explain || differs(token->flags, usual->flags, TOKEN_DEAD_LETTER | TOKEN_BURIED_AGAIN))
        event_set(&event, SLOT_BURIED,
            token->flags & TOKEN_BURIED_AGAIN ? 2 : (token->flags & TOKEN_DEAD_LETTER) != 0);
    if (token->flags & TOKEN_WAITING)
        event_set(&event, SLOT_WAITING, 1);
    if (token->flags & TOKEN_UNMARKED)
        event_set(&event, SLOT_UNMARKED, 1);
    if (w->explain || ((token->flags & TOKEN_PRESENT) && token->expires_at_s < soon_s))
        event_set(&event, SLOT_EXPIRES, (int64_t)token->expires_at_s * NS_PER_S);
    if (w->explain || token->outcome != usual->outcome)
        event_set(&event, SLOT_OUTCOME, token->outcome);
    return event;
}

static bool tell_rows(struct writer *w)
{
    struct ledger_token *usual = calloc(w->h->plan.token_count + 1, sizeof *usual);
    struct event row = {0};

    if (!usual)
        return false;
    story_settle_rows(usual, w->h, w->line_kept);
    for (uint32_t t = 0; t < w->h->plan.token_count; t++) {
        struct event next = row_of(w, t, &usual[t]);
        if (w->token_no[t] == DROPPED)
            continue;
        if (row.given && follows(&row, &next)) {
            row.last = next.last;
            continue;
        }
        if (row.given)
            tell(w, &row);
        row = next;
    }
    if (row.given)
        tell(w, &row);
    free(usual);
    return true;
}

static void tell_attempts(struct writer *w)
{
    for (size_t i = 0; i < w->l->attempt_count; i++) {
        const struct attempt_record *a = &w->l->attempts[i];
        struct event event = {.kind = EVENT_ATTEMPT, .first = w->token_no[a->token]};
        int usual = i > 0 && a[-1].token == a->token ? a[-1].number + 1 : 1;
        if (event.first == DROPPED)
            continue;
        event.last = event.first;
        event_set(&event, SLOT_KIND, a->end);
        if (w->explain || a->number != usual)
            event_set(&event, SLOT_NUMBER, a->number);
        tell(w, &event);
    }
}

// --- settings -------------------------------------------------------------------------------

// True for what a story says in words of its own, or does not need.
static bool is_other(const struct writer *w, const char *path)
{
    static const char *const others[] = {
        "name", "summary", "tags", "seed", "faults", "collector.command"};
    static const char *const objectives[] = {"allow.", "judged.", "expect."};

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(path, others[i]) == 0)
            return true;
    // In a part, the numbers are others. An invariant that is expected is a promise.
    for (size_t i = 0; w->part && i < sizeof objectives / sizeof *objectives; i++) {
        size_t len = strlen(objectives[i]);
        const struct metric *m =
            strncmp(path, objectives[i], len) == 0 ? metric_find(path + len) : NULL;
        if (m && (*path != 'e' || !m->invariant))
            return true;
    }
    return false;
}

static void write_scalar(const struct node *n, bool verbatim, struct buf *out)
{
    static const char safe[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./%-";

    if (verbatim || (*n->text && n->text[strspn(n->text, safe)] == '\0')) {
        buf_append_str(out, n->text);
        return;
    }
    buf_append_char(out, '"');
    for (const char *p = n->text; *p; p++)
        buf_printf(out, "%s%c", *p == '"' || *p == '\\' ? "\\" : "", *p);
    buf_append_char(out, '"');
}

static bool same_scalar(const struct node *a, const struct node *b)
{
    const struct node *x = a->first, *y = b->first;

    if (a->kind != b->kind || a->count != b->count)
        return false;
    if (a->kind == NODE_SCALAR)
        return strcmp(a->text, b->text) == 0;
    for (; x; x = x->next, y = y->next)
        if (!same_scalar(x, y))
            return false;
    return true;
}

static void write_setting(const struct node *n, const char *path, struct buf *out)
{
    bool verbatim = strncmp(path, "collector.env.", 14) == 0 ||
                    strncmp(path, "postgres.settings.", 18) == 0 ||
                    strncmp(path, "expect.", 7) == 0 || strncmp(path, "allow.", 6) == 0;

    buf_printf(out, "set %s=", path);
    if (n->kind == NODE_SCALAR) {
        write_scalar(n, verbatim, out);
    } else {
        for (const struct node *item = n->first; item; item = item->next) {
            buf_append_str(out, item == n->first ? "[" : ", ");
            write_scalar(item, false, out);
        }
        buf_append_str(out, n->count ? "]" : "[]");
    }
    buf_append_char(out, '\n');
}

// Writes each value below `n` that is not the one below `base`.
static void write_settings(
    const struct writer *w, const struct node *n, const struct node *base, const char *path)
{
    size_t index = 0;

    for (const struct node *child = n->first; child; child = child->next, index++) {
        char below[300], number[24];
        snprintf(number, sizeof number, "%zu", index);
        snprintf(below, sizeof below, "%s%s%s", path, *path ? "." : "",
            child->key ? child->key : number);
        const struct node *other = !base        ? NULL
                                   : child->key ? node_child(base, child->key)
                                                : node_item(base, index);
        bool list =
            child->kind == NODE_LIST && (!child->first || child->first->kind == NODE_SCALAR);
        if (is_other(w, below))
            continue;
        if (child->kind != NODE_SCALAR && !list)
            write_settings(w, child, other, below);
        else if (w->explain || !other || !same_scalar(child, other))
            write_setting(child, below, w->out);
    }
}

static bool read_tree(const struct scenario *s, struct node **root, struct err *e)
{
    static const struct origin nowhere = {.file = "story", .line = 1, .column = 1};
    struct buf yaml;

    buf_init(&yaml, 4u << 20);
    bool ok = ((scenario_write(s, &yaml) && buf_str(&yaml)) || err_memory(e)) &&
              parse_yaml(root, yaml.data, yaml.len, &nowhere, e);
    buf_fini(&yaml);
    return ok;
}

static bool tell_settings(const struct writer *w)
{
    struct node *base = NULL, *full = NULL, *here = NULL;
    struct scenario s = {0};
    struct err e;

    bool ok = story_base(&base, &e) && scenario_make(&s, base, &e) && read_tree(&s, &full, &e) &&
              read_tree(w->s, &here, &e);
    if (ok)
        write_settings(w, here, full, "");
    if (ok && w->part && w->s->slack_ns == SLACK_AUTO)
        buf_printf(w->out, "set slack=%lld.%06lldms\n", (long long)(w->part->slack_ns / NS_PER_MS),
            (long long)(w->part->slack_ns % NS_PER_MS));
    node_free(base);
    node_free(full);
    node_free(here);
    scenario_fini(&s);
    return ok;
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
        tell(w, &event);
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
        tell(w, &event);
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
    tell_sessions(w);
    for (size_t i = 0; i < log->line_count; i++)
        tell_line(w, i, &delivery);
    tell_samples(w);
    tell_looks(w);
    tell_probes(w, EVENT_PROBE, w->l->probes, w->l->probe_count);
    tell_probes(w, EVENT_FLUSH, w->l->flushes, w->l->flush_count);
    tell_stalls(w);
    ok = tell_rows(w) && ok;
    tell_attempts(w);
    return ok && !w->failed && !w->out->failed;
}

static bool tell_all(struct writer *w)
{
    struct buf events, *out = w->out;

    tell_numbers(w);
    bool ok = tell_settings(w);
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
        pick_tokens(&w);
        pick_processes(&w);
        guess_written(&w);
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
