// Writes and reads the sections of a history. One function serves both directions of a section, so
// reading cannot differ from writing. The sections stay in one file, because their order is the
// format: pack_all calls them in that order, and whoever adds a section must see the last one. The
// sections that fill many bytes in every version (lines, deliveries, samples) are in
// pack_observed.c.
//
// A new version adds its sections after those of the version before, which stay as they were. So a
// run can be judged again by rules that were made long after it. A figure that a version lacks
// stays zero or, where zero would say something false, is derived from the others (history_join).
//
// The file may be damaged, or made by somebody who wants to do harm. So each number has a limit,
// and before memory is asked for, each count must be one that a file of this size can hold.
#include "ledger/history.h"

#include <math.h>

#include "ledger/pack.h"

static const uint64_t oldest_version = 2;
static const uint64_t no_limit = UINT64_MAX; // for numbers that need no limit
static const size_t first_stalls = 256; // number of stalls that pack_stalls stores; part of the
                                        // format, so the same in every version

// Packs the word that begins each file, and the version. When reading, this sets *version to that
// of the file. A file is always written in the newest version.
static void pack_header(struct pack *p, uint64_t *version)
{
    char magic[16] = "mailproof";

    *version = pack_reading(p) ? 0 : HISTORY_VERSION;
    pack_text(p, magic, sizeof magic);
    if (strcmp(magic, "mailproof") != 0)
        pack_fail(p, "is not one of mailproof's");
    pack_number(p, version, no_limit);
    // A later version may have fields whose meaning is not known here, so its files are refused.
    if (*version > HISTORY_VERSION || *version < oldest_version)
        pack_fail(p, "was written by another version of mailproof");
}

// Packs the kept stalls from one index to another. A stall that was not kept is written as zeros,
// because the reader expects each index.
static void pack_stall_range(struct pack *p, struct stalls *s, size_t from, size_t until)
{
    for (size_t i = from; pack_ok(p) && i < until; i++) {
        struct stall kept = {0};
        if (i < s->kept_count)
            kept = s->kept[i];
        pack_moment(p, &kept.from_ns);
        pack_moment(p, &kept.until_ns);
        // Memory grows stall by stall, because the count that the file names may be a lie.
        if (pack_reading(p) && pack_ok(p))
            stalls_keep(s, kept);
    }
}

static void pack_stalls(struct pack *p, struct stalls *s)
{
    PACK_LIMITED(p, s->count, no_limit);
    pack_signed(p, &s->longest_ns);
    pack_signed(p, &s->total_ns);
    // Every version stores the first stalls here. pack_more_stalls, which came later, stores the
    // reader's others; the generator's are not stored.
    pack_stall_range(p, s, 0, s->count < first_stalls ? s->count : first_stalls);
}

static void pack_more_stalls(struct pack *p, struct stalls *s)
{
    size_t more = s->kept_count > first_stalls ? s->kept_count - first_stalls : 0;

    PACK_LIMITED(p, more, PACK_LINES_MAX);
    if (pack_reading(p) && !pack_can_hold(p, more))
        pack_fail(p, "names more items than it can hold");
    else
        pack_stall_range(p, s, first_stalls, first_stalls + more);
}

// Packs the notes, and the figures of the generator as a whole.
static void pack_notes(struct pack *p, struct history *h)
{
    struct history_notes *n = &h->notes;
    struct load_result *load = &h->load;
    uint64_t cpu_us = (uint64_t)llround(load->cpu_s * 1e6);
    uint64_t interrupted = n->interrupted;

    pack_number(p, &n->reconnects, no_limit);
    pack_number(p, &interrupted, 1);
    n->interrupted = interrupted != 0;
    pack_text(p, n->gave_up, sizeof n->gave_up);
    pack_text(p, n->cpu_users, sizeof n->cpu_users);
    pack_stalls(p, &n->reader_stalls);
    pack_signed(p, &n->reader_ns);
    PACK_LIMITED(p, load->refused, no_limit);
    pack_text(p, load->refusal, sizeof load->refusal);
    // The format has no fractions, so cpu_s is turned into whole µs and back, in both directions.
    pack_number(p, &cpu_us, no_limit);
    load->cpu_s = (double)cpu_us / 1e6;
    pack_stalls(p, &load->stalls);
}

static void pack_ledger(struct pack *p, struct ledger *l)
{
    const int64_t run_most_ns = INT64_C(100) * 24 * 3600 * NS_PER_S;

    pack_moment(p, &l->start_ns);
    pack_moment(p, &l->load_end_ns);
    pack_moment(p, &l->drain_end_ns);
    // Charts and tables have a row for each second, so a forged time could use up the memory.
    if (l->drain_end_ns - l->start_ns > run_most_ns)
        pack_fail(p, "holds an impossible time");
    pack_signed(p, &l->server_epoch_s);
    PACK_LIMITED(p, l->strangers, no_limit);
}

// Packs one transaction: when and how it was planned, and what became of it.
static void pack_txn(
    struct pack *p, const struct ledger *l, struct plan_txn *t, struct txn_record *r)
{
    int64_t planned_ns = l->start_ns + t->at_ns;
    size_t last_phase = l->scenario->load_count - 1; // a scenario has at least one phase

    // The planned time is packed as a moment of the run's clock: moments are stored as differences
    // to the moment before, and these differences are small.
    pack_moment(p, &planned_ns);
    t->at_ns = planned_ns - l->start_ns;
    PACK_LIMITED(p, t->rows, UINT16_MAX);
    PACK_LIMITED(p, t->phase, last_phase);
    PACK_LIMITED(p, t->flags, UINT8_MAX);
    PACK_LIMITED(p, r->outcome, TXN_NOT_NEEDED);
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
    PACK_LIMITED(p, plan->token_count, PLAN_TOKENS_MAX);
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
        PACK_LIMITED(p, plan->kinds[i], TOKEN_KINDS - 1);
}

// Packs the flags and the expiry of each token. Call it after ledger_init, which makes the tokens.
static void pack_flags_and_expiry(struct pack *p, struct history *h)
{
    int64_t last = 0;

    for (size_t i = 0; pack_ok(p) && i < h->plan.token_count; i++) {
        struct ledger_token *t = &h->ledger.tokens[i];
        int64_t step = t->expires_at_s - last;
        PACK_LIMITED(p, t->flags, UINT8_MAX);
        pack_signed(p, &step);
        last = t->expires_at_s = (int32_t)(last + step);
    }
}

// Packs the planned faults, and how each was carried out.
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
        PACK_LIMITED(p, f->spec, s->fault_count ? s->fault_count - 1 : 0);
        pack_moment(p, &r->planned_ns);
        pack_moment(p, &r->began_ns);
        pack_moment(p, &r->ended_ns);
        PACK_LIMITED(p, r->ok, 1);
        PACK_LIMITED(p, r->undone, 1);
        PACK_LIMITED(p, r->left_out, LEFT_OUT_BUSY);
        pack_text(p, r->evidence, sizeof r->evidence);
        // The scenario is a file beside the history, and may be that of another run.
        if (s->fault_count == 0)
            pack_fail(p, "has faults that its scenario does not");
        else
            r->spec = &s->faults[f->spec];
    }
}

// Packs what version 4 added: the samples of the probe that commits, the starts of the collector's
// sessions, the reader's stalls that pack_stalls left out, the notes on lines and the last words
// of processes.
static void pack_version_4(struct pack *p, struct history *h)
{
    struct ledger *l = &h->ledger;
    bool known = h->sessions != NULL;

    h->flushes = pack_probes(p, h->flushes, &l->flush_count);
    PACK_LIMITED(p, known, 1);
    if (known)
        h->sessions =
            pack_array(p, &l->session_count, PACK_LINES_MAX, h->sessions, sizeof *h->sessions);
    for (size_t i = 0; pack_ok(p) && i < l->session_count; i++)
        pack_moment(p, &h->sessions[i]);
    pack_more_stalls(p, &h->notes.reader_stalls);
    PACK_LIMITED(p, h->log.note_count, NOTES_MAX);
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
    PACK_LIMITED(p, c->token, h->plan.token_count ? h->plan.token_count - 1 : 0);
    PACK_LIMITED(p, c->kind, CHANGE_KINDS - 1);
    PACK_LIMITED(p, r->outcome, TXN_NOT_NEEDED);
    pack_moment(p, &r->sent_ns);
    pack_moment(p, &r->ended_ns);
    pack_moment(p, &r->back_sent_ns);
    pack_moment(p, &r->back_ended_ns);
}

// Packs the changes of accounts.
static void pack_changes(struct pack *p, struct history *h)
{
    struct plan *plan = &h->plan;

    plan->changes =
        pack_array(p, &plan->change_count, PLAN_TOKENS_MAX, plan->changes, sizeof *plan->changes);
    h->load.changes = pack_room(p, h->load.changes, plan->change_count, sizeof *h->load.changes);
    if (plan->token_count == 0 && plan->change_count > 0)
        pack_fail(p, "has changes that belong to no token");
    for (size_t i = 0; pack_ok(p) && i < plan->change_count; i++)
        pack_change(p, h, &plan->changes[i], &h->load.changes[i]);
}

// Packs the sender's answers, and the outcomes that the collector recorded.
static void pack_outcomes(struct pack *p, struct history *h)
{
    for (size_t i = 0; pack_ok(p) && i < h->log.delivery_count; i++) {
        struct delivery *d = &h->log.deliveries[i];
        PACK_LIMITED(p, d->reply, REPLIES - 1);
        // Most histories are of modes without answers, and need one byte here for each delivery.
        if (d->reply != REPLY_NONE)
            pack_moment(p, &d->replied_ns);
    }
    for (size_t i = 0; pack_ok(p) && i < h->plan.token_count; i++) {
        struct ledger_token *t = &h->ledger.tokens[i];
        PACK_LIMITED(p, t->outcome, OUTCOME_EXPIRED);
        PACK_LIMITED(p, t->attempts, UINT16_MAX);
    }
}

// Packs, for each fault, the time from which on it has lost commits, such as those that a failover
// left behind.
static void pack_left_behind(struct pack *p, struct history *h)
{
    for (size_t i = 0; pack_ok(p) && i < h->plan.fault_count; i++) {
        PACK_LIMITED(p, h->faults[i].left_known, 1);
        pack_moment(p, &h->faults[i].left_ns);
    }
}

// Packs the greatest clock error between several generators (workers), and the workers that were
// lost.
static void pack_workers(struct pack *p, struct history *h)
{
    pack_moment(p, &h->load.clock_bound_ns);
    PACK_LIMITED(p, h->load.lost_workers, UINT16_MAX);
    pack_text(p, h->load.lost_worker, sizeof h->load.lost_worker);
}

// Packs the attempts that the collector recorded.
static void pack_attempts(struct pack *p, struct history *h)
{
    struct ledger *l = &h->ledger;
    uint32_t token = 0;

    l->attempts =
        pack_array(p, &l->attempt_count, PACK_LINES_MAX, l->attempts, sizeof *l->attempts);
    for (size_t i = 0; pack_ok(p) && i < l->attempt_count; i++) {
        struct attempt_record *a = &l->attempts[i];
        // The attempts are sorted by token, so the steps between their tokens are never negative
        // and mostly fit into a byte.
        uint64_t step = a->token - token;
        pack_number(p, &step, h->plan.token_count ? h->plan.token_count - 1 - token : 0);
        token = a->token = token + (uint32_t)step;
        PACK_LIMITED(p, a->number, UINT16_MAX);
        PACK_LIMITED(p, a->end, ATTEMPT_ENDS - 1);
    }
    if (h->plan.token_count == 0 && l->attempt_count > 0)
        pack_fail(p, "has attempts that belong to no token");
}

// Packs the share of the processors that other programs used.
static void pack_others(struct pack *p, struct history *h)
{
    // The format has no fractions, so the share is stored in millionths.
    uint64_t ppm = (uint64_t)llround(h->notes.others_share * 1e6);

    pack_number(p, &ppm, 1000000);
    h->notes.others_share = (double)ppm / 1e6;
}

// Packs when each fault began to look for its victim, and between which times each line was
// written.
static void pack_sought_and_written(struct pack *p, struct history *h)
{
    for (size_t i = 0; pack_ok(p) && i < h->plan.fault_count; i++)
        pack_moment(p, &h->faults[i].sought_ns);
    for (size_t i = 0; pack_ok(p) && i < h->log.line_count; i++) {
        struct line_record *line = &h->log.lines[i];
        pack_moment(p, &line->empty_ns);
        pack_moment(p, &line->seen_ns);
        if (line->empty_ns > line->seen_ns || line->seen_ns > line->read_ns)
            pack_fail(p, "has lines that were read before they were written");
    }
}

// Packs what the rows of each token and its account held at the end (enum token_row).
static void pack_rows(struct pack *p, struct history *h)
{
    for (size_t i = 0; pack_ok(p) && i < h->plan.token_count; i++)
        PACK_LIMITED(p, h->ledger.tokens[i].row, UINT16_MAX);
}

// Packs what each process left running when it ended.
static void pack_litter(struct pack *p, struct history *h)
{
    for (size_t i = 0; pack_ok(p) && i < h->log.process_count; i++) {
        struct process_record *r = &h->log.processes[i];
        PACK_LIMITED(p, r->left, PROCESS_LEFT_SOME);
        if (r->left != PROCESS_LEFT_SOME)
            continue;
        pack_moment(p, &r->left_ns);
        pack_text(p, r->litter, sizeof r->litter);
    }
}

// Packs whether the collector's logs were searched, and held the signing key.
static void pack_logs(struct pack *p, struct history *h)
{
    PACK_LIMITED(p, h->ledger.logs, LOGS_HOLD_KEY);
}

// Packs the looks at the collector's sessions, and the transactions that stayed open.
static void pack_presence(struct pack *p, struct history *h)
{
    struct ledger *l = &h->ledger;

    h->looks = pack_array(p, &l->look_count, PACK_LINES_MAX, h->looks, sizeof *h->looks);
    for (size_t i = 0; pack_ok(p) && i < l->look_count; i++) {
        pack_moment(p, &h->looks[i].at_ns);
        PACK_LIMITED(p, h->looks[i].sessions, UINT32_MAX);
        pack_number(p, &h->looks[i].cpu_ms, no_limit);
    }
    h->holds = pack_array(p, &l->hold_count, PRESENCE_HOLDS_MAX, h->holds, sizeof *h->holds);
    for (size_t i = 0; pack_ok(p) && i < l->hold_count; i++) {
        pack_moment(p, &h->holds[i].from_ns);
        pack_moment(p, &h->holds[i].until_ns);
        PACK_LIMITED(p, h->holds[i].pid, UINT32_MAX);
    }
}

// Packs the numbers of open descriptors and of processes in each sample.
static void pack_counts(struct pack *p, struct history *h)
{
    for (size_t i = 0; pack_ok(p) && i < h->log.sample_count; i++) {
        PACK_LIMITED(p, h->log.samples[i].fds, UINT32_MAX);
        PACK_LIMITED(p, h->log.samples[i].processes, UINT32_MAX);
    }
}

// Packs which deliveries have the names from before a change of the account.
static void pack_renames(struct pack *p, struct history *h)
{
    for (size_t i = 0; pack_ok(p) && i < h->log.delivery_count; i++)
        PACK_LIMITED(p, h->log.deliveries[i].before_rename, 1);
}

// The sections that were added after oldest_version, and the version that added each.
static const struct {
    uint64_t since;
    void (*pack)(struct pack *p, struct history *h);
} later[] = {{4, pack_version_4}, {5, pack_changes}, {6, pack_outcomes}, {7, pack_left_behind},
    {8, pack_workers}, {9, pack_attempts}, {10, pack_others}, {11, pack_starved},
    {12, pack_sought_and_written}, {13, pack_rows}, {14, pack_litter}, {15, pack_logs},
    {16, pack_presence}, {17, pack_counts}, {18, pack_renames}};

// Packs a word that ends the file. It also shows that the sections before were read as they were
// written: otherwise something else stands here.
static void pack_end_mark(struct pack *p)
{
    char end[8] = "end";

    pack_text(p, end, sizeof end);
    if (strcmp(end, "end") != 0)
        pack_fail(p, "has no end");
}

// Packs all sections in the order of the format. Returns false only without memory: a failure of
// the stream is reported by pack_close.
static bool pack_all(struct pack *p, struct history *h, struct err *e)
{
    pack_header(p, &h->version);
    pack_notes(p, h);
    pack_ledger(p, &h->ledger);
    pack_txns(p, h);
    pack_tokens(p, h);
    // The ledger's arrays are as long as the plan, which is known only from here on. ledger_init
    // clears the ledger, so the fields that were read before are restored.
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
        pack_flags_and_expiry(p, h);
    pack_faults(p, h);
    pack_lines(p, &h->log);
    pack_deliveries(p, h);
    pack_samples(p, h);
    for (size_t i = 0; i < sizeof later / sizeof *later; i++)
        if (h->version >= later[i].since)
            later[i].pack(p, h);
    pack_end_mark(p);
    return true;
}

bool history_write(const char *path, const struct ledger *l, const struct load_result *load,
    const struct history_notes *notes, struct err *e)
{
    // The view borrows the caller's arrays. The casts drop `const`, but writing changes nothing in
    // them.
    struct history view = {.plan = *l->plan,
        .log = *l->log,
        .load = *load,
        .ledger = *l,
        .faults = (struct fault_record *)l->faults,
        .probes = (struct probe_sample *)l->probes,
        .flushes = (struct probe_sample *)l->flushes,
        .starved = (struct starved_sample *)l->starved,
        .looks = (struct presence_look *)l->looks,
        .holds = (struct presence_hold *)l->holds,
        .sessions = (int64_t *)l->sessions,
        .notes = *notes};
    struct pack *p = pack_write(path, e);

    view.load.records = (struct txn_record *)l->txns;
    return p && pack_all(p, &view, e) && pack_close(p, e);
}

// A stored history has the final flags of its deliveries, and no fingerprints. So all fingerprints
// are equal (0), and ledger_settle_end finds no forgery and only counts.
bool history_join(struct history *h, struct err *e)
{
    struct ledger *l = &h->ledger;

    l->txns = h->load.records;
    l->log = &h->log;
    l->faults = h->faults;
    l->fault_count = h->plan.fault_count;
    l->probes = h->probes;
    l->flushes = h->flushes;
    l->starved = h->starved;
    l->looks = h->looks;
    l->holds = h->holds;
    l->sessions = h->sessions;
    // Before version 12 a history did not say when a fault began to look for its victim, and when a
    // line was written.
    if (h->version < 12) {
        for (size_t i = 0; i < l->fault_count; i++)
            h->faults[i].sought_ns = h->faults[i].began_ns;
        ledger_guess_written(l);
    }
    return ledger_take_changes(l, h->load.changes, e) && ledger_settle_end(l, NULL, e);
}

bool history_read(struct history *h, const char *path, const struct scenario *s, struct err *e)
{
    *h = (struct history){.ledger.scenario = s};
    struct pack *p = pack_read(path, e);
    if (!p)
        return false;
    bool made = pack_all(p, h, e);
    // After a failure of pack_all, *e already says that memory is missing, so the error of the
    // stream is dropped.
    bool whole = pack_close(p, made ? e : &(struct err){0});
    if (made && whole && history_join(h, e))
        return true;
    history_fini(h);
    return false;
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
    free(h->starved);
    free(h->looks);
    free(h->holds);
    free(h->sessions);
    stalls_fini(&h->notes.reader_stalls);
    *h = (struct history){0};
}
