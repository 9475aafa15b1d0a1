// Makes random scenarios from a seed and a number. Pure: the same seed, number and limits give the
// same text.
//
// Three tables decide what is drawn: draw_rows.c has the values for the keys of a scenario and for
// the parameters of faults, scenario/verbs.h has the fault verbs, profile.c has loads that are
// seldom drawn. A new verb is drawn as soon as it is in its table; a new key needs a row in
// draw_rows.c.
#pragma once

#include "plan/rng.h"
#include "scenario/scenario.h"
#include "scenario/verbs.h"

#define DRAW_VERBS_MAX 64

// The modes that are drawn by default, as bits. Leased mode is not among them, because not every
// collector knows it.
#define DRAW_DEQUEUES (1u << DEQUEUE_CURSOR | 1u << DEQUEUE_SHARED)

// Limits on what is drawn. A zeroed struct leaves out leased mode, and what only the reference
// collector knows.
struct draw_limits {
    bool only[DRAW_VERBS_MAX]; // by index into verbs[]: if any_only, only the verbs set here are
                               // drawn
    bool any_only;             // true: `only` is in force
    unsigned dequeues;         // bits 1 << enum dequeue of the modes to draw; 0: DRAW_DEQUEUES
    bool ours;                 // the collector is the reference: it knows the announcement by bell
                               // (postgres.announce), and lanes and a budget in every mode
    bool alone;                // the collector does not promise to stand by, so cursor mode gets
                               // only one collector
    const char *base;          // YAML that is copied into each draw, of which then only the faults
                               // are drawn; NULL: all is drawn
    int64_t base_load_ns;      // length of the load in `base`
    int base_instances;        // number of collectors in `base`
    enum dequeue base_dequeue; // mode of `base`
};

// Appends the YAML of draw number `number`.
void draw_scenario(
    const struct draw_limits *limits, uint64_t seed, uint64_t number, struct buf *out);

// True when this draw is to be run with a proxy between collector and server even if no fault needs
// one. Only with a proxy is it known in which state of the connection a fault struck.
bool draw_proxied(uint64_t seed, uint64_t number);

// --- draw_rows.c: the vocabulary ----------------------------------------------------------

// How a key gets its value. `path` is the key as `mailproof list` shows it; a path that ends in a
// dot stands for all keys below it. Variables of collector.env have a prefix that tells when they
// are drawn: "collector.env." always, "leased.env." only in leased mode, "ours.env." in leased mode
// and, for the reference collector, in every mode.
struct draw_row {
    const char *path;
    const char *options; // values separated by |, each equally likely, such as "10|10|50"; NULL:
                         // the key is not drawn from this table
    double chance;       // probability that the key is written at all
    const char *why;     // why the key is not drawn from this table; NULL: it is drawn
};

extern const struct draw_row draw_rows[];
extern const size_t draw_row_count;

// Returns the row of a key; NULL: none.
const struct draw_row *draw_row(const char *path);

// Returns the weight of a verb: how often it is drawn, relative to the other verbs; 0: never.
unsigned draw_weight(const struct verb *verb);

// True when a verb (index into verbs[]) may be drawn: its weight is not 0, and the limits allow it.
static inline bool draw_allows(const struct draw_limits *limits, size_t verb)
{
    return draw_weight(&verbs[verb]) > 0 && (!limits->any_only || limits->only[verb]);
}

// Returns the line that the section postgres needs for this verb, such as "storage: crashable";
// NULL: none.
const char *draw_needs(const struct verb *verb);

// Draws one of the options into `value`.
void draw_option(struct rng *rng, const char *options, char *value, size_t size);

// --- profile.c ---------------------------------------------------------------------
//
// Chooses the profile of a draw: a random load, or one that a random draw would seldom make. Some
// invariants are judged only with such a load.

struct profile {
    double share;      // share of the draws that get this profile
    unsigned dequeues; // bits 1 << enum dequeue of the modes in which the profile makes sense
    bool quiet;        // the draw has no faults, because the profile's invariant is judged only
                       // without faults
    bool complete;     // `collector` also sets the mode and the variables
    int instances;     // number of collectors, unless `collector` is drawn with another
    int64_t load_ns;   // length of `load`
    const char *collector, *load; // YAML of these sections; NULL: the section is drawn
    const char *expect;           // YAML line with expectations; NULL: there are none
};

// Returns the profile of a draw. If the limits do not allow the chosen one, that of a random load.
const struct profile *profile_draw(const struct draw_limits *limits, struct rng *rng);
