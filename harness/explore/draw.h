// Draws a scenario by a seed. Pure: the same seed, number and limits give the same text.
//
// Two tables decide: the values that the keys of a scenario may have (draw_rows.c), and the verbs
// of scenario/verbs.h with the values of their parameters. A new verb is drawn as soon as it is in
// that table; a new key needs a row.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "plan/rng.h"
#include "scenario/scenario.h"
#include "scenario/verbs.h"

#define DRAW_VERBS_MAX 64

// The modes that are drawn by default. Leased mode is not among them, because it needs a collector
// that knows it.
#define DRAW_DEQUEUES (1u << DEQUEUE_CURSOR | 1u << DEQUEUE_SHARED)

// Limits on what is drawn; a zeroed struct sets no limit.
struct draw_limits {
    bool only[DRAW_VERBS_MAX]; // by index into verbs[]: only these are drawn, if any_only
    bool any_only;             // true: some of `only` are set
    unsigned dequeues;         // bits 1 << enum dequeue of the modes to draw; 0: DRAW_DEQUEUES
    bool ours;                 // the collector is the reference: it asks for its announcements
                               // (postgres.announce: bell), and keeps lanes and a budget in every
                               // mode
    bool alone;                // nobody stands by: cursor mode has one collector
    const char *base;          // YAML for everything except name, seed and faults; NULL: that is
                               // drawn, too
    int64_t base_load_ns;      // length of the load in `base`
    int base_instances;
};

// Appends the YAML of draw number `number`. False: out of memory.
MUST_USE bool draw_scenario(
    const struct draw_limits *limits, uint64_t seed, uint64_t number, struct buf *out);

// True when a proxy stands between collector and server although the draw does not break the
// network. It shows the state of the connection.
bool draw_watched(uint64_t seed, uint64_t number);

// --- draw_rows.c: the vocabulary ----------------------------------------------------------

// How a key gets its value. The path is the key as `mailproof list` shows it. A path that ends in a
// dot stands for all keys below it. A variable of collector.env is written behind "collector.env.".
// It is written behind "leased.env." if only leased mode has it, and behind "ours.env." if the
// reference collector has it in every mode and other collectors only in leased mode.
struct draw_row {
    const char *path;
    const char *options; // values, each equally likely: "10|10|50"; NULL: the key is not drawn
    double chance;       // probability that the key is written at all
    const char *why;     // why a key is not drawn, or is drawn elsewhere
};

extern const struct draw_row draw_rows[];
extern const size_t draw_row_count;

// Returns the row of a key; NULL: none.
const struct draw_row *draw_row(const char *path);

// Returns how often a verb is drawn, relative to the others.
unsigned draw_weight(const struct verb *verb);

// Returns the key of postgres that the verb requires, such as "storage: crashable"; NULL: none.
const char *draw_needs(const struct verb *verb);

// Draws one of the options into `value`.
void draw_option(struct rng *rng, const char *options, char *value, size_t size);
