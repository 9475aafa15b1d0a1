// Writes and reads a compressed stream of numbers, each in as few bytes as it needs. The same
// pack_… call serves both directions: it writes its value, or fills the value in when the stream is
// being read.
//
// The stream keeps its first failure, so the caller checks once after many calls. A read after a
// failure returns 0.
#pragma once

#include "base/base.h"
#include "ledger/history.h"

struct pack;

MUST_USE struct pack *pack_write(const char *path, struct err *e);
MUST_USE struct pack *pack_read(const char *path, struct err *e);

// True when the file that is being read can hold this many items at all. A damaged count could
// otherwise make us ask for more memory than the machine has.
bool pack_can_hold(const struct pack *p, size_t count);

bool pack_reading(const struct pack *p);
bool pack_ok(const struct pack *p);

// Closes the stream. Returns false with the reason when anything has failed.
MUST_USE bool pack_close(struct pack *p, struct err *e);

// Packs a number, seven bits per byte; the highest bit says that another byte follows. When
// reading, a value above `most` is a failure.
void pack_number(struct pack *p, uint64_t *value, uint64_t most);

// Packs a field of any integer type. When reading, a value above `most` is a failure.
#define PACK_LIMITED(p, field, most)                                                               \
    do {                                                                                           \
        uint64_t number_ = (uint64_t)(field);                                                      \
        pack_number(p, &number_, most);                                                            \
        (field) = (__typeof__(field))number_;                                                      \
    } while (0)

// Packs a signed number; a number near zero takes few bytes.
void pack_signed(struct pack *p, int64_t *value);

// Packs a time as its difference to the time that was packed before, so that a time near that one
// takes few bytes. 0 and CLOCK_NEVER are kept as they are.
void pack_time(struct pack *p, int64_t *ns);

// Packs a string that fits into `size` bytes with its NUL.
void pack_text(struct pack *p, char *text, size_t size);

// Marks the stream as failed. `why` goes on after "the history" in the message, such as "is
// damaged". Only the first reason is kept.
void pack_fail(struct pack *p, const char *why);

// Packs the time of an event that has happened or is planned; 0 when it has not happened. Reading
// CLOCK_NEVER is a failure. Only the end of a process may be CLOCK_NEVER, because in a soak the
// process may live on in the next segment; pack_time packs it.
void pack_moment(struct pack *p, int64_t *ns);

// Makes room for the items. When reading, returns a new array, or NULL on failure. When writing,
// returns `items`, which may be NULL when there are none.
void *pack_room(struct pack *p, void *items, size_t count, size_t size);

// Packs a count, which is at most `most`, and returns the array for that many items, as pack_room
// does. A failed read returns NULL and sets the count to 0.
void *pack_array(struct pack *p, size_t *count, uint64_t most, void *items, size_t size);

// --- pack_observed.c ---------------------------------------------------------------
//
// Packs the part of a history that the run observed: processes, lines, deliveries, samples.

#define PACK_LINES_MAX (UINT64_C(1) << 27) // limit for counts of lines, samples and the like

// Packs the collector's processes and their lines.
void pack_lines(struct pack *p, struct subject_log *log);

// Packs the deliveries, which are the tokens of the lines. Call it after pack_lines, which packs
// their number.
void pack_deliveries(struct pack *p, struct history *h);

// Packs probe samples, and returns their array as pack_array does.
struct probe_sample *pack_probes(struct pack *p, struct probe_sample *probes, size_t *count);

// Packs the samples of how long processes waited for a processor.
void pack_starved(struct pack *p, struct history *h);

// Packs the samples of the processes (memory, CPU time) and those of the probe.
void pack_samples(struct pack *p, struct history *h);

// Packs the note on one faulty line.
void pack_note(struct pack *p, struct subject_log *log, struct line_note *note);
