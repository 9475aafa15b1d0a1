#include "check/story.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

static const int64_t start_ns = 1000 * NS_PER_S;
static const int64_t load_until_ms = 4000;
static const int64_t end_ms = 10000;

static int64_t at(int64_t ms)
{
    return start_ns + ms * NS_PER_MS;
}

void story_init(struct story *s)
{
    *s = (struct story){0};
    s->scenario = (struct scenario){
        .name = "story",
        .needs = -1,
        .collector = {.layout = LAYOUT_REFERENCE,
            .instances = 1,
            .batch_limit = 3,
            .batch_timeout_ns = 100 * NS_PER_MS,
            .restart = true,
            .promises = -1},
        .load = s->phases,
        .load_count = 1,
        .faults = s->specs,
        .drain_ns = 6 * NS_PER_S,
        .recovery_limit_ns = NS_PER_S,
        .slack_ns = 50 * NS_PER_MS,
        .allow = s->allow,
        .judged = s->judged,
        .expect = s->expect,
    };
    s->phases[0] =
        (struct load_phase){.for_ns = load_until_ms * NS_PER_MS, .rate_from = 1, .rate_to = 1};
    s->plan = (struct plan){
        .txns = s->plan_txns, .kinds = s->kinds, .load_ns = load_until_ms * NS_PER_MS};
    s->log = (struct subject_log){.processes = s->processes,
        .process_count = 1,
        .lines = s->lines,
        .deliveries = s->deliveries,
        .samples = s->samples};
    s->processes[0] = (struct process_record){
        .pid = 100, .started_ns = at(-1000), .ended_ns = at(end_ms + 10), .asked = true};
    s->input = (struct check_input){.load = &s->load, .reconnects = UINT64_MAX};
}

void story_fini(struct story *s)
{
    result_fini(&s->result);
    ledger_fini(&s->ledger);
}

uint32_t story_txn(struct story *s, int64_t at_ms, int rows)
{
    size_t i = s->plan.txn_count++;
    uint32_t first = (uint32_t)s->plan.token_count;

    s->plan.token_count += (size_t)rows;
    s->plan_txns[i] =
        (struct plan_txn){.at_ns = at_ms * NS_PER_MS, .first_token = first, .rows = (uint16_t)rows};
    s->txns[i] = (struct txn_record){.sent_ns = at(at_ms),
        .commit_ns = at(at_ms),
        .ended_ns = at(at_ms + 1),
        .outcome = TXN_COMMITTED};
    return first;
}

struct change_record *story_change(
    struct story *s, uint32_t token, enum change_kind kind, int64_t sent_ms, int64_t ended_ms)
{
    size_t i = s->plan.change_count++;

    s->plan.changes = s->plan_changes;
    s->load.changes = s->changes;
    s->plan_changes[i] =
        (struct plan_change){.at_ns = sent_ms * NS_PER_MS, .token = token, .kind = (uint8_t)kind};
    s->changes[i] = (struct change_record){
        .sent_ns = at(sent_ms), .ended_ns = at(ended_ms), .outcome = TXN_COMMITTED};
    return &s->changes[i];
}

struct txn_record *story_last(struct story *s)
{
    return &s->txns[s->plan.txn_count - 1];
}

struct line_record *story_line(struct story *s, int64_t read_ms, uint32_t first, int count)
{
    struct line_record *line = &s->lines[s->log.line_count];

    *line = (struct line_record){.read_ns = at(read_ms),
        .process = (uint32_t)s->log.process_count - 1,
        .first_delivery = (uint32_t)s->log.delivery_count,
        .tokens = (uint32_t)count,
        .state = LINE_WHOLE};
    for (int i = 0; i < count; i++)
        s->deliveries[s->log.delivery_count++] = (struct delivery){.token = first + (uint32_t)i,
            .line = (uint32_t)s->log.line_count,
            .fingerprint = 1000 + first + (uint32_t)i};
    s->log.line_count++;
    s->processes[line->process].lines++;
    return line;
}

void story_death(struct story *s, int64_t at_ms, bool planned)
{
    struct process_record *dead = &s->processes[s->log.process_count - 1];
    struct process_record *next = &s->processes[s->log.process_count++];

    *next = *dead;
    next->pid++;
    next->lines = 0;
    next->started_ns = at(at_ms + 100);
    dead->ended_ns = at(at_ms);
    dead->asked = planned;
    dead->status = planned ? 9 : 1 << 8; // SIGKILL, or exit code 1
}

void story_second(struct story *s)
{
    struct process_record *second = &s->processes[s->log.process_count++];

    s->scenario.collector.instances = 2;
    *second = s->processes[0];
    second->pid = 200;
    second->lines = 0;
    second->instance = 1;
}

void story_by(struct story *s, uint32_t process)
{
    struct line_record *line = &s->lines[s->log.line_count - 1];

    s->processes[line->process].lines--;
    s->processes[process].lines++;
    line->process = process;
}

void story_session(struct story *s, int64_t at_ms)
{
    s->sessions[s->ledger.session_count++] = at(at_ms);
    s->ledger.sessions = s->sessions;
}

struct fault_record *story_fault(
    struct story *s, const char *verb, int64_t began_ms, int64_t ended_ms)
{
    size_t i = s->ledger.fault_count++;

    s->specs[i] =
        (struct fault_spec){.verb = verb_find(verb), .target = TARGET_COLLECTOR, .instance = -1};
    s->scenario.faults = s->specs;
    if (s->scenario.fault_count <= i)
        s->scenario.fault_count = i + 1;
    s->faults[i] = (struct fault_record){.spec = &s->specs[i],
        .planned_ns = at(began_ms),
        .began_ns = at(began_ms),
        .ended_ns = at(ended_ms),
        .ok = true,
        .undone = true};
    return &s->faults[i];
}

void story_starved(
    struct story *s, unsigned waited_ms, unsigned own_ms, unsigned load_ms, unsigned load_ran_ms)
{
    const unsigned step_ms = 50, before_ms = 1000;

    for (unsigned ms = 0, i = 0; ms <= before_ms + (unsigned)load_until_ms; ms += step_ms, i++)
        s->starved[s->ledger.starved_count++] =
            (struct starved_sample){.at_ns = at((int64_t)ms - before_ms),
                .collector_us = (uint64_t)i * waited_ms * 1000,
                .own_us = (uint64_t)i * own_ms * 1000,
                .busy_us = (uint64_t)ms * 2000,
                .load_us = (uint64_t)i * load_ms * 1000,
                .load_ran_us = (uint64_t)i * load_ran_ms * 1000};
}

void story_settle(struct story *s)
{
    struct err e = {0};
    struct ledger told = s->ledger;

    if (!ledger_init(&s->ledger, &s->scenario, &s->plan, &e))
        abort();
    struct ledger *l = &s->ledger;
    l->txns = s->txns;
    if (!ledger_take_changes(l, s->changes, &e))
        abort();
    l->log = &s->log;
    l->faults = s->faults;
    l->fault_count = told.fault_count;
    l->probes = s->probes;
    l->probe_count = told.probe_count;
    l->flushes = told.flushes;
    l->flush_count = told.flush_count;
    l->starved = s->starved;
    l->starved_count = told.starved_count;
    l->sessions = told.sessions;
    l->session_count = told.session_count;
    l->start_ns = start_ns;
    l->load_end_ns = at(load_until_ms);
    l->drain_end_ns = at(end_ms);
    l->attempt_count = s->attempt_count;
    l->attempts = calloc(s->attempt_count + 1, sizeof *l->attempts);
    if (!l->attempts)
        abort();
    memcpy(l->attempts, s->attempts, s->attempt_count * sizeof *l->attempts);
    for (uint32_t t = 0; t < s->plan.token_count; t++) {
        struct ledger_token *token = &l->tokens[t];
        token->flags = (uint8_t)s->token_flags[t];
        token->outcome = s->outcomes[t];
        token->attempts = s->outcomes[t] ? STORY_MAX : 0;
        token->fingerprint = 1000 + t;
        token->row = s->rows[t];
        token->expires_at_s = s->expires_at_s[t] ? s->expires_at_s[t] : 900;
        if (ledger_committed(l, t))
            token->flags ^= TOKEN_PRESENT;
        if (token_kind_unsendable(s->kinds[t]) && ledger_committed(l, t))
            token->flags ^= TOKEN_DEAD_LETTER;
    }
    ledger_guess_written(l);
    if (!ledger_settle_end(l, NULL, &e))
        abort();
}

void story_judge(struct story *s)
{
    struct err e = {0};

    story_settle(s);
    if (!check_ledger(&s->result, &s->ledger, &s->input, &e))
        abort();
}

void story_good_token(struct story *s)
{
    story_line(s, 150, story_txn(s, 50, 1), 1);
}

void story_share(struct story *s)
{
    s->scenario.collector.dequeue = DEQUEUE_SHARED;
    story_good_token(s);
}

void story_samples(struct story *s, uint32_t rss_kb, uint64_t cpu_ms, uint64_t wakeups)
{
    int64_t first_ns = s->processes[0].started_ns + NS_PER_S;

    for (uint32_t i = 0; i < 8; i++)
        s->samples[s->log.sample_count++] =
            (struct process_sample){.at_ns = first_ns + (int64_t)i * 500 * NS_PER_MS,
                .rss_kb = 5000 + i * rss_kb,
                .cpu_ms = i * cpu_ms,
                .wakeups = i * wakeups};
}
