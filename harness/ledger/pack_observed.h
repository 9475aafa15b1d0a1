// The part of a history that was seen of the collector and of the server: processes, lines,
// deliveries, samples.
#pragma once

#include "ledger/history.h"
#include "ledger/pack.h"

#define PACK_LINES_MAX (UINT64_C(1) << 27)

// The processes of the collector and their lines.
void pack_lines(struct pack *p, struct subject_log *log);

// The tokens of the lines, after pack_lines.
void pack_deliveries(struct pack *p, struct history *h);

// Returns the array, as pack_array does.
struct probe_sample *pack_probes(struct pack *p, struct probe_sample *probes, size_t *count);

// What the processes held and cost, and the probe's samples.
void pack_samples(struct pack *p, struct history *h);

// What was wrong with one line.
void pack_note(struct pack *p, struct subject_log *log, struct line_note *note);
