#include "check/simulated.h"

static const int64_t start_ns = 1000 * NS_PER_S;

static int64_t at(int64_t ms)
{
    return start_ns + ms * NS_PER_MS;
}

// Stands for the fields of a token, which are the same in the database and in each line.
static uint64_t sim_fingerprint(uint32_t token)
{
    return 1000 + token;
}

void sim_history_init(struct sim_history *h)
{
    *h = (struct sim_history){0};
    h->scenario = (struct scenario){
        .name = "simulated",
        .needs = -1, // all promises
        .collector = {.layout = LAYOUT_REFERENCE,
            .instances = 1,
            .batch_limit = 3,
            .batch_timeout_ns = 100 * NS_PER_MS,
            .restart = true,
            .promises = -1},
        .load = &h->phase,
        .load_count = 1,
        .faults = h->specs,
        .drain_ns = 6 * NS_PER_S,
        .recovery_limit_ns = NS_PER_S,
        .slack_ns = 50 * NS_PER_MS,
    };
    h->phase = (struct load_phase){.for_ns = SIM_LOAD_MS * NS_PER_MS, .rate_from = 1, .rate_to = 1};
    h->plan =
        (struct plan){.txns = h->plan_txns, .kinds = h->kinds, .load_ns = SIM_LOAD_MS * NS_PER_MS};
    h->log = (struct subject_log){.processes = h->processes,
        .process_count = 1,
        .lines = h->lines,
        .deliveries = h->deliveries};
    h->processes[0] = (struct process_record){
        .pid = 100, .started_ns = at(SIM_START_MS), .ended_ns = at(SIM_EXIT_MS), .asked = true};
    h->input = (struct check_input){.load = &h->load, .reconnects = UINT64_MAX};
}

void sim_history_fini(struct sim_history *h)
{
    result_fini(&h->result);
    ledger_fini(&h->ledger);
}

uint32_t sim_history_txn(struct sim_history *h, int64_t at_ms, int rows)
{
    size_t i = h->plan.txn_count++;
    uint32_t first = (uint32_t)h->plan.token_count;

    h->plan.token_count += (size_t)rows;
    h->plan_txns[i] =
        (struct plan_txn){.at_ns = at_ms * NS_PER_MS, .first_token = first, .rows = (uint16_t)rows};
    h->txns[i] = (struct txn_record){.sent_ns = at(at_ms),
        .commit_ns = at(at_ms),
        .ended_ns = at(at_ms + 1),
        .outcome = TXN_COMMITTED};
    return first;
}

void sim_history_line(
    struct sim_history *h, uint32_t process, int64_t read_ms, const uint32_t *tokens, int count)
{
    uint32_t number = (uint32_t)h->log.line_count++;

    h->lines[number] = (struct line_record){.read_ns = at(read_ms),
        .process = process,
        .first_delivery = (uint32_t)h->log.delivery_count,
        .tokens = (uint32_t)count,
        .state = LINE_WHOLE};
    for (int i = 0; i < count; i++)
        h->deliveries[h->log.delivery_count++] = (struct delivery){
            .token = tokens[i], .line = number, .fingerprint = sim_fingerprint(tokens[i])};
    h->processes[process].lines++;
}

void sim_history_session(struct sim_history *h, int64_t at_ms)
{
    h->sessions[h->ledger.session_count++] = at(at_ms);
    h->ledger.sessions = h->sessions;
}

void sim_history_fault(struct sim_history *h, const char *verb, int64_t began_ms, int64_t ended_ms)
{
    size_t i = h->ledger.fault_count++;

    h->specs[i] =
        (struct fault_spec){.verb = verb_find(verb), .target = TARGET_COLLECTOR, .instance = -1};
    h->scenario.fault_count = i + 1;
    h->faults[i] = (struct fault_record){.spec = &h->specs[i],
        .planned_ns = at(began_ms),
        .began_ns = at(began_ms),
        .ended_ns = at(ended_ms),
        .ok = true,
        .undone = true};
}

void sim_history_settle(struct sim_history *h)
{
    struct err e = {0};
    struct ledger recorded = h->ledger, *l = &h->ledger; // ledger_init clears it

    if (!ledger_init(l, &h->scenario, &h->plan, &e))
        abort();
    l->txns = h->txns;
    l->log = &h->log;
    l->faults = h->faults;
    l->fault_count = recorded.fault_count;
    l->sessions = recorded.sessions;
    l->session_count = recorded.session_count;
    l->start_ns = start_ns;
    l->load_end_ns = at(SIM_LOAD_MS);
    l->drain_end_ns = at(SIM_DRAIN_END_MS);
    for (uint32_t t = 0; t < h->plan.token_count; t++)
        l->tokens[t] = (struct ledger_token){.flags = ledger_committed(l, t) ? TOKEN_PRESENT : 0,
            .fingerprint = sim_fingerprint(t),
            .expires_at_s = 900}; // every token lives for 15 minutes
    ledger_guess_written(l);
    if (!ledger_settle_end(l, NULL, &e))
        abort();
}
