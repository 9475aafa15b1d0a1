// Packs the part of a history that the run observed: processes, lines, deliveries, samples.
#pragma once

#include "ledger/history.h"
#include "ledger/pack.h"

#define PACK_LINES_MAX (UINT64_C(1) << 27) // limit for counts of lines, samples and the like

// Packs the collector's processes and their lines.
void pack_lines(struct pack *p, struct subject_log *log);

// Packs the deliveries, which are the tokens of the lines. Call it after pack_lines, which packs
// their number.
void pack_deliveries(struct pack *p, struct history *h);

// Packs probe samples, and returns their array as pack_array does.
struct probe_sample *pack_probes(struct pack *p, struct probe_sample *probes, size_t *count);

// Packs the samples of waits for a processor, and returns their array as pack_array does.
struct starved_sample *pack_waits(struct pack *p, struct starved_sample *samples, size_t *count);

// Packs the samples of the processes (memory, CPU time) and those of the probe.
void pack_samples(struct pack *p, struct history *h);

// Packs the note on one faulty line.
void pack_note(struct pack *p, struct subject_log *log, struct line_note *note);
