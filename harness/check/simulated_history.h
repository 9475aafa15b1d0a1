// The history that a simulation records: a ledger in arrays of a fixed size, so that 100,000 of
// them can be made in a minute. Times are ms since the load began.
#pragma once

#include "check/check.h"

#define SIM_HISTORY_MAX 512 // transactions, lines, deliveries

struct sim_history {
    struct scenario scenario;
    struct load_phase phase;
    struct fault_spec specs[16];
    struct plan plan;
    struct plan_txn plan_txns[SIM_HISTORY_MAX];
    uint8_t kinds[SIM_HISTORY_MAX];
    struct txn_record txns[SIM_HISTORY_MAX];
    struct fault_record faults[16];
    struct subject_log log;
    struct process_record processes[8];
    struct line_record lines[SIM_HISTORY_MAX];
    struct delivery deliveries[SIM_HISTORY_MAX];
    int64_t sessions[64];
    struct load_result load;
    struct ledger ledger;
    struct check_input input;
    struct result result;
};

// Begins with one collector that lives from a second before the load to the end: three tokens a
// line, a timeout of 100 ms, a slack of 50 ms.
void sim_history_init(struct sim_history *h);
void sim_history_fini(struct sim_history *h);

// Adds a transaction that is acknowledged 1 ms after it was sent, and returns its first token.
uint32_t sim_history_txn(struct sim_history *h, int64_t at_ms, int rows);

// Adds a line of these tokens.
void sim_history_line(
    struct sim_history *h, uint32_t process, int64_t read_ms, const uint32_t *tokens, int count);

// Adds a session of the collector.
void sim_history_session(struct sim_history *h, int64_t at_ms);

void sim_history_fault(struct sim_history *h, const char *verb, int64_t began_ms, int64_t ended_ms);

// Brings the history to its end: the database holds what is committed.
void sim_history_settle(struct sim_history *h);
