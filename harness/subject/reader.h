// From bytes to records: splits what a process wrote into lines, decodes them
// and appends them to the log. The log's arrays grow; nothing is ever dropped.
#pragma once

#include <stdatomic.h>

#include "base/buf.h"
#include "plan/plan.h"
#include "subject/decoder.h"
#include "subject/subject.h"

struct reader {
    struct subject_log log;
    struct decoder *decoder;
    struct plan plan; // borrows the arrays: says which tokens share an account, and in which
                      // segment they are; zeroed: none do, in the first
    bool jobs;        // lines are "got N ATTEMPT" and "done N", of a subject's consumer
    uint64_t tokens;  // in whole lines
    uint64_t torn;    // number of lines that cannot be parsed
    _Atomic int64_t
        *seen_ns; // per planned token: when it was first read, 0 before; for other threads
    size_t seen_count;
};

// Longest line. No real line is longer. The limit keeps a collector that writes without a newline
// from filling the memory.
#define READER_LINE_MAX (64u << 20)
// So many torn lines say enough, and so many lines and deliveries beyond 20 for each planned token.
// The limits keep a collector that floods from filling the memory.
#define READER_TORN_MAX 1000000u
#define READER_BEYOND_MAX 1000000u
#define READER_EACH_MAX 20u

MUST_USE bool reader_init(
    struct reader *r, const unsigned char *key, size_t token_count, struct err *e);
void reader_fini(struct reader *r);

// Appends a process; returns its index, or UINT32_MAX without memory.
uint32_t reader_add_process(struct reader *r, const struct process_record *process);

// Appends a sample; without memory it is dropped.
void reader_add_sample(struct reader *r, const struct process_sample *sample);

// When the bytes of `pending` were read, and when they can have been written.
struct reading {
    int64_t read_ns;
    int64_t empty_ns;  // when the pipe was last found empty before the latest of them
    size_t seen_bytes; // so many of them were already in the pipe at seen_ns; 0: unknown
    int64_t seen_ns;
};

// Takes the whole lines out of `pending` and records them.
MUST_USE bool reader_lines(
    struct reader *r, struct buf *pending, uint32_t process, const struct reading *reading);

// True when a collector wrote more than any run needs; e says what.
MUST_USE bool reader_is_flooded(const struct reader *r, struct err *e);

// Marks the refused tokens of a line as not seen, so that they are still awaited.
void reader_refuse(struct reader *r, uint32_t line);

// Records what is left in `pending` after the process has ended.
MUST_USE bool reader_tail(
    struct reader *r, struct buf *pending, uint32_t process, const struct reading *reading);
