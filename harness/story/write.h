// What the files that write a story share; nobody else includes it.
#pragma once

#include "story/inside.h"

#define DROPPED UINT32_MAX // the new number of what is not written

// The text of one event. Events are written in the order of time; before them what lasts, and
// behind them what was measured and what the tables hold.
struct piece {
    int64_t ns;
    size_t number, from, len;
};

struct writer {
    const struct scenario *s;
    const struct history *h;
    const struct ledger *l;
    const struct part *part; // NULL: everything
    bool explain;
    struct subject_log log; // the processes with their new numbers, for the default of `by`
    uint32_t *token_no, *process_no;
    bool *line_kept;
    struct line_record *guessed; // when each line was written, if nobody says it
    struct buf *out;
    struct piece *pieces;
    size_t piece_count;
    bool failed;
};

// True when a time touches the part that is written.
static inline bool is_inside(const struct writer *w, int64_t from_ns, int64_t until_ns)
{
    return !w->part || (from_ns <= w->part->until_ns && until_ns >= w->part->from_ns);
}

static inline int64_t from_start(const struct writer *w, int64_t ns)
{
    return ns == 0 || ns == CLOCK_NEVER ? CLOCK_NEVER : ns - w->l->start_ns;
}

static inline int64_t run_ns(const struct writer *w)
{
    return w->l->drain_end_ns - w->l->start_ns;
}

static inline void set_time(const struct writer *w, struct event *event, enum slot slot, int64_t ns)
{
    event_set(event, slot, from_start(w, ns));
}

// Writes an event, without what a reader fills in by itself.
void write_event(struct writer *w, struct event *event);

// True when the second event says of the next numbers what the first says.
bool write_follows(const struct event *event, const struct event *next);

// --- pick.c --------------------------------------------------------------------------------

// Chooses what is written, and gives tokens and processes their new numbers.
void write_pick(struct writer *w);

// --- settings.c ----------------------------------------------------------------------------

// Writes the settings that are not those of every story.
MUST_USE bool write_scenario(const struct writer *w);

// --- measured.c ----------------------------------------------------------------------------

void write_probes(
    struct writer *w, enum event_kind kind, const struct probe_sample *probes, size_t count);
void write_samples(struct writer *w);
void write_looks(struct writer *w);
void write_sessions(struct writer *w);
void write_stalls(struct writer *w);
void write_presence(struct writer *w);

// --- rows.c --------------------------------------------------------------------------------

MUST_USE bool write_rows(struct writer *w);
void write_attempts(struct writer *w);
