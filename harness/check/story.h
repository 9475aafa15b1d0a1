// Hand-made histories for the tests of the checks: a ledger with exactly the events that the test
// needs. Times are ms since the load began.
//
// A story begins with one collector that lives from -1000 ms until the end; the batch limit is 3,
// the timeout 100 ms, the slack 50 ms.
#pragma once

#include "check/check.h"

#define STORY_MAX 512

struct story {
    struct scenario scenario;
    struct load_phase phases[4];
    struct fault_spec specs[16];
    struct allowance allow[2];
    struct judged_least judged[2];
    struct expectation expect[2];
    struct plan plan;
    struct plan_txn plan_txns[STORY_MAX];
    struct plan_change plan_changes[8];
    struct change_record changes[8];
    uint8_t kinds[STORY_MAX];
    struct txn_record txns[STORY_MAX];
    struct fault_record faults[16];
    struct subject_log log;
    struct process_record processes[8];
    struct line_record lines[STORY_MAX];
    struct delivery deliveries[STORY_MAX];
    struct process_sample samples[STORY_MAX];
    struct probe_sample probes[STORY_MAX];
    struct starved_sample starved[STORY_MAX];
    int64_t sessions[64];
    struct load_result load;
    struct ledger ledger;
    struct check_input input;
    uint8_t outcomes[STORY_MAX]; // enum token_outcome of each token
    // The flags of each token (enum token_flags). story_settle toggles PRESENT of a committed token
    // and DEAD_LETTER of an unsendable one, so a story that sets such a flag itself says the
    // contrary.
    uint32_t token_flags[STORY_MAX];
    uint16_t rows[STORY_MAX];        // enum token_row of each token; 0: unknown
    int32_t expires_at_s[STORY_MAX]; // when each token expires by the database; 0: after 900 s
    struct attempt_record attempts[STORY_MAX];
    size_t attempt_count;
    struct result result;
};

void story_init(struct story *s);
void story_fini(struct story *s);

// Adds a transaction of `rows` activation tokens: sent and committed at at_ms, acknowledged 1 ms
// later. Returns its first token. A test then changes kinds, txns and token_flags if it needs
// others.
uint32_t story_txn(struct story *s, int64_t at_ms, int rows);

// Changes the token while it waits; the change is sent and acknowledged.
struct change_record *story_change(
    struct story *s, uint32_t token, enum change_kind kind, int64_t sent_ms, int64_t ended_ms);

// Returns the latest transaction of the story.
struct txn_record *story_last(struct story *s);

// The latest process writes a line of the tokens first … first + count - 1.
struct line_record *story_line(struct story *s, int64_t read_ms, uint32_t first, int count);

// The latest process ends, by a planned signal or by itself, and another starts.
void story_death(struct story *s, int64_t at_ms, bool planned);

// Adds a second collector that lives from -1000 ms until the end and becomes the latest process.
// story_by makes another process the writer of the last line.
void story_second(struct story *s);
void story_by(struct story *s, uint32_t process);

// Adds a session of the collector. In a story without sessions, their times are unknown.
void story_session(struct story *s, int64_t at_ms);

struct fault_record *story_fault(
    struct story *s, const char *verb, int64_t began_ms, int64_t ended_ms);

// Adds a committed token that is delivered in time, so that the history passes.
void story_good_token(struct story *s);

// Makes the queue a shared one, and adds a good token.
void story_share(struct story *s);

// Adds eight samples of the first process, every 500 ms from 0 ms on. The arguments are the growth
// from one sample to the next.
void story_samples(struct story *s, uint32_t rss_kb, uint64_t cpu_ms, uint64_t wakeups);

// Adds a sample for each 50 ms from -1000 ms to the end of the load, in which the machine's two
// processors are busy. The arguments say how many of these 50 ms the collector waited for a
// processor, how many it ran, how many the load's backends waited, and how many those ran.
void story_starved(
    struct story *s, unsigned waited_ms, unsigned own_ms, unsigned load_ms, unsigned load_ran_ms);

// Brings the history to its end: the database holds what is committed, and dead letters are where
// they belong.
void story_settle(struct story *s);

// Settles the story and judges it; the result lives in the story.
void story_judge(struct story *s);
