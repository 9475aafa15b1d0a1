#include "ledger/history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "ledger/pack.h"

static const uint64_t any = UINT64_MAX;
static const uint64_t processes_max = 1000000;
static const uint64_t lines_max = 1u << 27;
static const size_t stalls_first = 256; // of a history of any version

// The sections come in this order, and each says how it looks, for both
// directions.

static void pack_header(struct pack *p, uint64_t *version)
{
    char magic[16] = "mailproof";

    *version = pack_reading(p) ? 0 : HISTORY_VERSION;
    pack_text(p, magic, sizeof magic);
    if (strcmp(magic, "mailproof") != 0)
        pack_fail(p, "is not one of mailproof's");
    pack_number(p, version, any);
    if (*version > HISTORY_VERSION || *version < 2)
        pack_fail(p, "was written by another version of mailproof");
}

// A time of something that has happened, or is planned to; 0 if it has not. Only
// the end of a process may be never, with which nobody reckons.
static void pack_moment(struct pack *p, int64_t *ns)
{
    pack_time(p, ns);
    if (pack_reading(p) && *ns == CLOCK_NEVER) {
        pack_fail(p, "holds a time that cannot be");
        *ns = 0;
    }
}

static void pack_kept(struct pack *p, struct stalls *s, size_t from, size_t until)
{
    for (size_t i = from; pack_ok(p) && i < until; i++) {
        struct stall kept = {0};
        if (i < s->kept_count)
            kept = s->kept[i];
        pack_moment(p, &kept.from_ns);
        pack_moment(p, &kept.until_ns);
        if (pack_reading(p) && pack_ok(p) && !stalls_keep(s, kept))
            pack_fail(p, "needs more memory than there is");
    }
}

static void pack_stalls(struct pack *p, struct stalls *s)
{
    PACK_FIELD(p, s->count, any);
    pack_signed(p, &s->longest_ns);
    pack_signed(p, &s->total_ns);
    // The first stand here, as they always did, the others behind everything else.
    pack_kept(p, s, 0, s->count < stalls_first ? s->count : stalls_first);
}

static void pack_more_stalls(struct pack *p, struct stalls *s)
{
    size_t more = s->kept_count > stalls_first ? s->kept_count - stalls_first : 0;

    PACK_FIELD(p, more, lines_max);
    if (pack_reading(p) && !pack_can_hold(p, more))
        pack_fail(p, "names more items than it can hold");
    else
        pack_kept(p, s, stalls_first, stalls_first + more);
}

static void pack_notes(struct pack *p, struct history *h)
{
    struct history_notes *n = &h->notes;
    struct load_result *load = &h->load;
    uint64_t cpu_us = (uint64_t)llround(load->cpu_s * 1e6);
    uint64_t interrupted = 0; // never 1: a run that is interrupted leaves no history

    pack_number(p, &n->reconnects, any);
    pack_number(p, &interrupted, 1);
    pack_text(p, n->gave_up, sizeof n->gave_up);
    pack_text(p, n->cpu_users, sizeof n->cpu_users);
    pack_stalls(p, &n->reader_stalls);
    pack_signed(p, &n->reader_ns);
    PACK_FIELD(p, load->refused, any);
    pack_text(p, load->refusal, sizeof load->refusal);
    pack_number(p, &cpu_us, any);
    load->cpu_s = (double)cpu_us / 1e6;
    pack_stalls(p, &load->stalls);
}

static void pack_ledger(struct pack *p, struct ledger *l)
{
    pack_moment(p, &l->start_ns);
    pack_moment(p, &l->load_end_ns);
    pack_moment(p, &l->drain_end_ns);
    pack_signed(p, &l->server_epoch_s);
    PACK_FIELD(p, l->strangers, any);
}

// The array for items that are going to be read; what is written stands in its
// own, which for no items may be NULL. A NULL for reading is a failure.
static void *pack_room(struct pack *p, void *items, size_t count, size_t size)
{
    if (!pack_reading(p))
        return items;
    if (!pack_can_hold(p, count)) {
        pack_fail(p, "names more items than it can hold");
        return NULL;
    }
    items = calloc(count + 1, size);
    if (!items)
        pack_fail(p, "needs more memory than there is");
    return items;
}

// A count, and its array; NULL with 0 items after a failure.
static void *pack_array(struct pack *p, size_t *count, uint64_t most, void *items, size_t size)
{
    PACK_FIELD(p, *count, most);
    items = pack_room(p, items, *count, size);
    if (pack_reading(p) && !items)
        *count = 0;
    return items;
}

static void pack_txn(
    struct pack *p, const struct ledger *l, struct plan_txn *t, struct txn_record *r)
{
    int64_t planned_ns = l->start_ns + t->at_ns;
    size_t last_phase = l->scenario->load_count - 1; // no scenario is without a phase

    pack_moment(p, &planned_ns);
    t->at_ns = planned_ns - l->start_ns;
    PACK_FIELD(p, t->rows, UINT16_MAX);
    PACK_FIELD(p, t->phase, last_phase);
    PACK_FIELD(p, t->flags, UINT8_MAX);
    PACK_FIELD(p, r->outcome, TXN_NOT_NEEDED);
    pack_moment(p, &r->sent_ns);
    pack_moment(p, &r->commit_ns);
    pack_moment(p, &r->ended_ns);
}

static void pack_txns(struct pack *p, struct history *h)
{
    struct plan *plan = &h->plan;
    uint64_t tokens = 0;

    plan->txns = pack_array(p, &plan->txn_count, PLAN_TOKENS_MAX, plan->txns, sizeof *plan->txns);
    h->load.records = pack_room(p, h->load.records, plan->txn_count, sizeof *h->load.records);
    for (size_t i = 0; pack_ok(p) && i < plan->txn_count; i++) {
        pack_txn(p, &h->ledger, &plan->txns[i], &h->load.records[i]);
        plan->txns[i].first_token = (uint32_t)tokens;
        tokens += plan->txns[i].rows;
    }
    PACK_FIELD(p, plan->token_count, PLAN_TOKENS_MAX);
    if (pack_ok(p) && tokens != plan->token_count)
        pack_fail(p, "has transactions that do not fit its tokens");
    pack_signed(p, &plan->load_ns);
    pack_signed(p, &plan->end_ns);
}

static void pack_tokens(struct pack *p, struct history *h)
{
    struct plan *plan = &h->plan;

    plan->kinds = pack_room(p, plan->kinds, plan->token_count, sizeof *plan->kinds);
    for (size_t i = 0; pack_ok(p) && i < plan->token_count; i++)
        PACK_FIELD(p, plan->kinds[i], TOKEN_KINDS - 1);
}

// After the ledger's own arrays exist.
static void pack_ends(struct pack *p, struct history *h)
{
    int64_t last = 0;

    for (size_t i = 0; pack_ok(p) && i < h->plan.token_count; i++) {
        struct ledger_token *t = &h->ledger.tokens[i];
        int64_t step = t->expires_at_s - last;
        PACK_FIELD(p, t->flags, UINT8_MAX);
        pack_signed(p, &step);
        last = t->expires_at_s = (int32_t)(last + step);
    }
}

static void pack_faults(struct pack *p, struct history *h)
{
    struct plan *plan = &h->plan;
    const struct scenario *s = h->ledger.scenario;

    plan->faults =
        pack_array(p, &plan->fault_count, PLAN_FAULTS_MAX, plan->faults, sizeof *plan->faults);
    h->faults = pack_room(p, h->faults, plan->fault_count, sizeof *h->faults);
    for (size_t i = 0; pack_ok(p) && i < plan->fault_count; i++) {
        struct plan_fault *f = &plan->faults[i];
        struct fault_record *r = &h->faults[i];
        pack_signed(p, &f->at_ns);
        pack_signed(p, &f->end_ns);
        PACK_FIELD(p, f->spec, s->fault_count ? s->fault_count - 1 : 0);
        pack_moment(p, &r->planned_ns);
        pack_moment(p, &r->began_ns);
        pack_moment(p, &r->ended_ns);
        PACK_FIELD(p, r->ok, 1);
        PACK_FIELD(p, r->undone, 1);
        PACK_FIELD(p, r->left_out, LEFT_OUT_BUSY);
        pack_text(p, r->evidence, sizeof r->evidence);
        if (s->fault_count == 0)
            pack_fail(p, "has faults that its scenario does not");
        else
            r->spec = &s->faults[f->spec];
    }
}

static void pack_process(struct pack *p, struct process_record *r)
{
    uint64_t cpu_us = (uint64_t)llround(r->cpu_s * 1e6);

    PACK_FIELD(p, r->instance, INT32_MAX);
    PACK_FIELD(p, r->pid, INT32_MAX);
    pack_moment(p, &r->started_ns);
    pack_time(p, &r->ended_ns);
    PACK_FIELD(p, r->status, INT32_MAX);
    PACK_FIELD(p, r->asked, 1);
    PACK_FIELD(p, r->lines, UINT32_MAX);
    PACK_FIELD(p, r->rss_max_kb, INT64_MAX);
    pack_number(p, &cpu_us, any);
    r->cpu_s = (double)cpu_us / 1e6;
}

static void pack_lines(struct pack *p, struct subject_log *log)
{
    uint64_t deliveries = 0;

    log->processes =
        pack_array(p, &log->process_count, processes_max, log->processes, sizeof *log->processes);
    for (size_t i = 0; pack_ok(p) && i < log->process_count; i++)
        pack_process(p, &log->processes[i]);
    log->lines = pack_array(p, &log->line_count, lines_max, log->lines, sizeof *log->lines);
    for (size_t i = 0; pack_ok(p) && i < log->line_count; i++) {
        struct line_record *line = &log->lines[i];
        uint64_t skipped = line->first_delivery - deliveries; // those of torn lines before it
        pack_moment(p, &line->read_ns);
        PACK_FIELD(p, line->process, log->process_count - 1);
        pack_number(p, &skipped, UINT32_MAX);
        PACK_FIELD(p, line->tokens, UINT32_MAX);
        PACK_FIELD(p, line->state, LINE_TAIL);
        line->first_delivery = (uint32_t)(deliveries + skipped);
        deliveries = line->first_delivery + (uint64_t)line->tokens;
        if (deliveries > UINT32_MAX)
            pack_fail(p, "has more deliveries than there can be");
    }
    PACK_FIELD(p, log->delivery_count, UINT32_MAX);
    if (pack_ok(p) && deliveries > log->delivery_count)
        pack_fail(p, "has lines without their deliveries");
    if (log->process_count == 0 && log->line_count > 0)
        pack_fail(p, "has lines that nobody wrote");
}

static void pack_deliveries(struct pack *p, struct history *h)
{
    struct subject_log *log = &h->log;
    int64_t token = 0;
    uint32_t line = 0;

    log->deliveries = pack_room(p, log->deliveries, log->delivery_count, sizeof *log->deliveries);
    for (size_t i = 0; pack_ok(p) && i < log->delivery_count; i++) {
        struct delivery *d = &log->deliveries[i];
        int64_t step = (int64_t)d->token - token;
        uint64_t lines = d->line - line;
        pack_signed(p, &step);
        pack_number(p, &lines, UINT32_MAX);
        PACK_FIELD(p, d->flags, UINT8_MAX);
        token += step;
        line += (uint32_t)lines;
        if (line >= log->line_count || token < 0 || token > (int64_t)TOKEN_UNKNOWN)
            pack_fail(p, "has deliveries without a line");
        d->token = (uint32_t)token;
        d->line = line;
    }
}

static struct probe_sample *pack_probes(struct pack *p, struct probe_sample *probes, size_t *count)
{
    probes = pack_array(p, count, lines_max, probes, sizeof *probes);
    for (size_t i = 0; pack_ok(p) && i < *count; i++) {
        struct probe_sample *s = &probes[i];
        bool answered = s->took_ns != CLOCK_NEVER;
        pack_moment(p, &s->due_ns);
        pack_signed(p, &s->stall_ns);
        PACK_FIELD(p, answered, 1);
        if (answered)
            pack_signed(p, &s->took_ns);
        else
            s->took_ns = CLOCK_NEVER;
    }
    return probes;
}

static void pack_samples(struct pack *p, struct history *h)
{
    struct subject_log *log = &h->log;
    struct ledger *l = &h->ledger;

    log->samples = pack_array(p, &log->sample_count, lines_max, log->samples, sizeof *log->samples);
    for (size_t i = 0; pack_ok(p) && i < log->sample_count; i++) {
        struct process_sample *s = &log->samples[i];
        pack_moment(p, &s->at_ns);
        PACK_FIELD(p, s->process, log->process_count ? log->process_count - 1 : 0);
        PACK_FIELD(p, s->rss_kb, UINT32_MAX);
        pack_number(p, &s->cpu_ms, any);
        pack_number(p, &s->wakeups, any);
        if (h->version > 2)
            pack_number(p, &s->starved_us, any);
    }
    h->probes = pack_probes(p, h->probes, &l->probe_count);
}

static void pack_note(struct pack *p, struct subject_log *log, struct line_note *note)
{
    PACK_FIELD(p, note->line, log->line_count ? log->line_count - 1 : 0);
    PACK_FIELD(p, note->token, UINT32_MAX);
    pack_text(p, note->text, sizeof note->text);
}

// What version 4 added.
static void pack_more(struct pack *p, struct history *h)
{
    struct ledger *l = &h->ledger;
    bool known = h->sessions != NULL;

    if (h->version < 4)
        return;
    h->flushes = pack_probes(p, h->flushes, &l->flush_count);
    PACK_FIELD(p, known, 1);
    if (known)
        h->sessions = pack_array(p, &l->session_count, lines_max, h->sessions, sizeof *h->sessions);
    for (size_t i = 0; pack_ok(p) && i < l->session_count; i++)
        pack_moment(p, &h->sessions[i]);
    pack_more_stalls(p, &h->notes.reader_stalls);
    PACK_FIELD(p, h->log.note_count, NOTES_MAX);
    for (size_t i = 0; pack_ok(p) && i < h->log.note_count; i++)
        pack_note(p, &h->log, &h->log.notes[i]);
    for (size_t i = 0; pack_ok(p) && i < h->log.process_count; i++)
        pack_text(p, h->log.processes[i].last_words, sizeof h->log.processes[i].last_words);
}

static void pack_change(
    struct pack *p, const struct history *h, struct plan_change *c, struct change_record *r)
{
    pack_signed(p, &c->at_ns);
    pack_signed(p, &c->back_ns);
    PACK_FIELD(p, c->token, h->plan.token_count ? h->plan.token_count - 1 : 0);
    PACK_FIELD(p, c->kind, CHANGE_KINDS - 1);
    PACK_FIELD(p, r->outcome, TXN_NOT_NEEDED);
    pack_moment(p, &r->sent_ns);
    pack_moment(p, &r->ended_ns);
    pack_moment(p, &r->back_sent_ns);
    pack_moment(p, &r->back_ended_ns);
}

// What version 5 added.
static void pack_changes(struct pack *p, struct history *h)
{
    struct plan *plan = &h->plan;

    if (h->version < 5)
        return;
    plan->changes =
        pack_array(p, &plan->change_count, PLAN_TOKENS_MAX, plan->changes, sizeof *plan->changes);
    h->load.changes = pack_room(p, h->load.changes, plan->change_count, sizeof *h->load.changes);
    if (plan->token_count == 0 && plan->change_count > 0)
        pack_fail(p, "has changes of no token");
    for (size_t i = 0; pack_ok(p) && i < plan->change_count; i++)
        pack_change(p, h, &plan->changes[i], &h->load.changes[i]);
}

// What version 6 added: the sender's answers, and what the collector recorded.
static void pack_outcomes(struct pack *p, struct history *h)
{
    if (h->version < 6)
        return;
    for (size_t i = 0; pack_ok(p) && i < h->log.delivery_count; i++) {
        struct delivery *d = &h->log.deliveries[i];
        PACK_FIELD(p, d->reply, REPLIES - 1);
        if (d->reply != REPLY_NONE)
            pack_moment(p, &d->replied_ns);
    }
    for (size_t i = 0; pack_ok(p) && i < h->plan.token_count; i++) {
        struct ledger_token *t = &h->ledger.tokens[i];
        PACK_FIELD(p, t->outcome, OUTCOME_EXPIRED);
        PACK_FIELD(p, t->attempts, UINT16_MAX);
    }
}

// What version 7 added: of each fault what its failover left behind.
static void pack_left_behind(struct pack *p, struct history *h)
{
    if (h->version < 7)
        return;
    for (size_t i = 0; pack_ok(p) && i < h->plan.fault_count; i++) {
        PACK_FIELD(p, h->faults[i].left_known, 1);
        pack_moment(p, &h->faults[i].left_ns);
    }
}

// What version 8 added: of several generators, their clocks, and those that were lost.
static void pack_workers(struct pack *p, struct history *h)
{
    if (h->version < 8)
        return;
    pack_moment(p, &h->load.clock_bound_ns);
    PACK_FIELD(p, h->load.lost_workers, UINT16_MAX);
    pack_text(p, h->load.lost_worker, sizeof h->load.lost_worker);
}

static void pack_end(struct pack *p)
{
    char end[8] = "end";

    pack_text(p, end, sizeof end);
    if (strcmp(end, "end") != 0)
        pack_fail(p, "has no end");
}

// Returns false without memory; what the stream itself says is asked later.
static bool pack_all(struct pack *p, struct history *h, struct err *e)
{
    pack_header(p, &h->version);
    pack_notes(p, h);
    pack_ledger(p, &h->ledger);
    pack_txns(p, h);
    pack_tokens(p, h);
    if (pack_reading(p) && pack_ok(p)) {
        struct ledger read = h->ledger;
        if (!ledger_init(&h->ledger, read.scenario, &h->plan, e))
            return false;
        h->ledger.start_ns = read.start_ns;
        h->ledger.load_end_ns = read.load_end_ns;
        h->ledger.drain_end_ns = read.drain_end_ns;
        h->ledger.server_epoch_s = read.server_epoch_s;
        h->ledger.strangers = read.strangers;
    }
    if (pack_ok(p))
        pack_ends(p, h);
    pack_faults(p, h);
    pack_lines(p, &h->log);
    pack_deliveries(p, h);
    pack_samples(p, h);
    pack_more(p, h);
    pack_changes(p, h);
    pack_outcomes(p, h);
    pack_left_behind(p, h);
    pack_workers(p, h);
    pack_end(p);
    return true;
}

bool history_write(const char *path, const struct ledger *l, const struct load_result *load,
    const struct history_notes *notes, struct err *e)
{
    // A view: writing changes nothing of what it shows.
    struct history view = {.plan = *l->plan,
        .log = *l->log,
        .load = *load,
        .ledger = *l,
        .faults = (struct fault_record *)l->faults,
        .probes = (struct probe_sample *)l->probes,
        .flushes = (struct probe_sample *)l->flushes,
        .sessions = (int64_t *)l->sessions,
        .notes = *notes};
    struct pack *p = pack_write(path, e);

    view.load.records = (struct txn_record *)l->txns;
    return p && pack_all(p, &view, e) && pack_close(p, e);
}

bool history_read(struct history *h, const char *path, const struct scenario *s, struct err *e)
{
    *h = (struct history){.ledger.scenario = s};
    struct pack *p = pack_read(path, e);
    if (!p)
        return false;
    bool made = pack_all(p, h, e);
    bool whole = pack_close(p, made ? e : &(struct err){0});
    if (!made || !whole) {
        history_fini(h);
        return false;
    }
    h->ledger.txns = h->load.records;
    h->ledger.log = &h->log;
    h->ledger.faults = h->faults;
    h->ledger.fault_count = h->plan.fault_count;
    h->ledger.probes = h->probes;
    h->ledger.flushes = h->flushes;
    h->ledger.sessions = h->sessions;
    // The flags of deliveries are final; with equal fingerprints this only counts.
    return ledger_take_changes(&h->ledger, h->load.changes, e) &&
           ledger_settle_end(&h->ledger, NULL, e);
}

void history_fini(struct history *h)
{
    ledger_fini(&h->ledger);
    plan_fini(&h->plan);
    load_result_fini(&h->load);
    free(h->log.processes);
    free(h->log.lines);
    free(h->log.deliveries);
    free(h->log.samples);
    free(h->faults);
    free(h->probes);
    free(h->flushes);
    free(h->sessions);
    stalls_fini(&h->notes.reader_stalls);
    *h = (struct history){0};
}
