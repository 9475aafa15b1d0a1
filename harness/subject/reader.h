// Turns bytes into records: splits what a process wrote into lines, decodes them and appends them
// to the log. The log's arrays grow as needed.
#pragma once

#include <stdatomic.h>

#include "plan/plan.h"
#include "subject/decoder.h"
#include "subject/subject.h"

struct reader {
    struct subject_log log;
    struct decoder *decoder;
    struct plan plan; // borrows its arrays; tells which tokens share an account, and the segment of
                      // the soak that is carried out now; zeroed: no two tokens share one, and it
                      // is the first segment
    bool jobs;        // the lines are "got N ATTEMPT" and "done N", from a queue's consumer
    uint64_t tokens;  // number of tokens in whole lines
    uint64_t torn;    // number of lines that are LINE_TORN
    _Atomic int64_t *seen_ns; // for each planned token, when it was first read; 0: not yet; other
                              // threads read this, too
    size_t seen_count;
};

// Longest line. A correct line is far shorter. The limit keeps a collector that writes without a
// newline from filling the memory.
#define READER_LINE_MAX (64u << 20)
// The run ends when there are more torn lines than READER_TORN_MAX, or more lines and deliveries
// than READER_EACH_MAX for each planned token and READER_BEYOND_MAX beyond that. The limits keep a
// collector that floods the harness from filling the memory.
#define READER_TORN_MAX 1000000u
#define READER_BEYOND_MAX 1000000u
#define READER_EACH_MAX 20u

MUST_USE bool reader_init(
    struct reader *r, const unsigned char *key, size_t token_count, struct err *e);
void reader_fini(struct reader *r);

// Appends a process to the log; returns its index.
uint32_t reader_add_process(struct reader *r, const struct process_record *process);

// Appends a sample to the log.
void reader_add_sample(struct reader *r, const struct process_sample *sample);

// When the bytes of the buffer `pending` were read, and when they can have been written.
struct reading {
    int64_t read_ns;
    int64_t empty_ns;  // when the pipe was last found empty before the latest bytes were read
    size_t seen_bytes; // how many bytes of `pending`, from its first on, were written by seen_ns;
                       // 0: unknown
    int64_t seen_ns;   // when the process got its first signal that can end it
};

// Moves the whole lines from `pending` to the log.
void reader_lines(
    struct reader *r, struct buf *pending, uint32_t process, const struct reading *reading);

// True when the collector wrote more than the limits above allow; e says what.
MUST_USE bool reader_is_flooded(const struct reader *r, struct err *e);

// Marks the jobs of a line that were refused as not seen, because the harness must wait for their
// next delivery. A job that fails for good stays seen.
void reader_refuse(struct reader *r, uint32_t line);

// Records a last line without a newline, if `pending` holds one after the process has ended.
void reader_tail(
    struct reader *r, struct buf *pending, uint32_t process, const struct reading *reading);
