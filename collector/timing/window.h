// Decides when a batch fires. Pure: it is given the time and never waits.
//
// The window counts the tokens that are known to wait, in three groups: those that the last read
// showed and that were announced (`shown`), those that it showed without an announcement
// (`missed`), and those that were announced since it was sent (`fresh`). The window fires when they
// are enough for a batch, or when the first of them has waited for the timeout.
//
// Announcements carry the token's id. A small memory of ids keeps three things exact that counting
// alone would get wrong. A token that a read showed before its announcement came in is not counted
// twice. The announcement of a token that is already written does not start a new timeout. The
// first token that a full batch leaves of a backlog keeps its own time. A forgotten id costs a
// query or some waiting, never a token, because every read corrects the window to what is really
// there.
//
// A read may show a token whose announcement never came. Such a token is younger than the previous
// read that saw everything, so it is due by the time of that earlier read plus the timeout; where
// the two reads are close together, by the time of the later one plus the timeout. But it may also
// be only a moment old, with its announcement on the way. So the window waits WINDOW_SETTLE_NS for
// the announcement.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "timing/flow.h"
#include "timing/pace.h"

// An announcement may come this long after a read that shows its token.
#define WINDOW_SETTLE_NS INT64_C(25000000)

struct window_group {
    int count;        // how many tokens the group has
    int64_t first_ns; // when the first of these tokens was announced
};

struct window {
    int limit;
    int64_t timeout_ns;
    struct pace pace; // may choose a shorter timeout, after a pace_init; see pace.h
    struct flow flow; // whether to look for tokens, or to have each one announced
    struct window_group shown;
    struct window_group missed;
    struct window_group fresh;
    int64_t reading_ns;  // when the last read was sent
    int64_t complete_ns; // when the last read that saw everything was sent; later, if until then
                         // each token was announced
    bool full;           // a read since then gave a full line, and did not see everything
    int64_t unseen_ns;   // tokens that the last such read was the first to show came after this
    int64_t came_ns;     // when such tokens are taken to have come
    int64_t seen_ns;     // like complete_ns, but of any session; CLOCK_NEVER: there was none
    int64_t since_ns;    // what the last read was the first to show was committed after this
    int64_t taken;       // how many tokens were taken since the start
    int unheard;         // tokens shown or taken without an announcement, which the pace does not
                         // know yet
    struct window_entry *memory;
    size_t mask; // the number of entries in `memory`, a power of two, minus 1
};

// The window waits for timeout_ns. To make it adapt to the rate, call pace_init for its `pace`.
bool window_init(struct window *w, int limit, int64_t timeout_ns, struct err *e) MUST_USE;
void window_fini(struct window *w);

// Forgets everything: a new session shows what is there.
void window_restart(struct window *w, int64_t now_ns);

// A notification came in; id is 0 when it did not say which token.
void window_announce(struct window *w, int64_t id, int64_t now_ns);

// A read is sent. It need not show the tokens that are announced from now on.
void window_reading(struct window *w, int64_t now_ns);

// The read saw everything that waits: call window_shown_all once, then window_shown for each token
// that it showed.
void window_shown_all(struct window *w, int64_t now_ns);
void window_shown(struct window *w, int64_t id);

// Until now each token was announced, and the producers are told to announce no more: what is not
// announced comes later.
void window_heard_all(struct window *w, int64_t now_ns);

// The read gave a full line, and may have left tokens. `announced`: until it was sent, each token
// was announced, so that one without an announcement came later.
void window_shown_full(struct window *w, bool announced);

// This token goes into the line that is about to be written. Returns since when it waits: when it
// was announced, else when the last read was sent that saw everything and did not see it. So a
// token that was not announced may have waited for less. CLOCK_NEVER: there was no such read.
int64_t window_taken(struct window *w, int64_t id, int64_t now_ns);

// Others may have taken tokens since our last read.
void window_stood_by(struct window *w);

// Returns when to read next; 0: at once; CLOCK_NEVER: nothing is known to wait.
int64_t window_due_ns(const struct window *w);

// Returns when the first token has waited long enough for a batch that is not full.
int64_t window_timeout_ns(const struct window *w);

// Returns, while tokens come fast, when to look for a full batch instead of having each token
// announced; otherwise CLOCK_NEVER. `looking`: we already do so.
int64_t window_glance_ns(struct window *w, bool looking, int64_t now_ns);
