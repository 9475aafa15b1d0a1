// Decides when a batch fires. Pure: it is given the time and never waits.
//
// The window counts the tokens that are known to wait, in three groups: those that the last read
// showed and that were announced (`shown`), those that it showed without an announcement
// (`missed`), and those that were announced since that read was sent (`fresh`). The window fires
// when all these tokens fill a batch, or when the first of them has waited for the timeout.
//
// Announcements carry the token's id. A small memory of ids keeps three things exact that counting
// alone would get wrong. A token that a read showed before its announcement came in is not counted
// twice. The announcement of a token that is already written does not start a new timeout. When a
// full batch leaves a part of a backlog, the first token that is left keeps its own waiting time. A
// forgotten id costs a query or some waiting, never a token, because every read corrects the window
// to what is really there.
//
// A read that shows everything that waits is complete. It may show a token whose announcement never
// came. Such a token is younger than the complete read before, so its timeout counts from that read
// or, where the two reads are close together, from the later one. But the token may also be only a
// moment old, with its announcement on the way. So the window waits WINDOW_SETTLE_NS for it.
#pragma once

#include "timing/flow.h"
#include "timing/pace.h"

// How long the window waits for the announcement of a token that a read has shown.
#define WINDOW_SETTLE_NS INT64_C(25000000)

struct window_group {
    int count;        // how many tokens the group has
    int64_t first_ns; // when the first of them was announced, or is taken to have come
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
    int64_t complete_ns; // when the last complete read was sent, or later: what waits unannounced
                         // is taken to have come after this time
    bool full;           // a read after the last complete one gave a full line
    // These two are about tokens that the last complete read was the first to show:
    int64_t came_after_ns;      // they are taken to have come after this time
    int64_t assumed_ns;         // those without an announcement are taken to have come at this time
    int64_t seen_ns;            // when the last complete read was sent, in this or an earlier
                                // session; CLOCK_NEVER: none, or we stood by since
    int64_t committed_after_ns; // tokens that the last read was the first to show were committed
                                // after this
    int64_t taken;              // how many tokens were taken since the start
    int unannounced; // tokens shown or taken without an announcement, of which the pace does not
                     // know yet
    struct window_entry *memory;
    size_t mask; // the number of entries in `memory`, a power of two, minus 1
};

// The window waits for timeout_ns. To make it adapt to the rate, call pace_init for its `pace`.
bool window_init(struct window *w, int limit, int64_t timeout_ns, struct err *e) MUST_USE;
void window_fini(struct window *w);

// Forgets which tokens wait, because a new session begins: its first read shows them.
void window_restart(struct window *w, int64_t now_ns);

// Call it when a notification came in; id is 0 when it did not say which token it announces.
void window_announce(struct window *w, int64_t id, int64_t now_ns);

// Call it when a read is sent. Tokens that are announced from now on may be missing in its answer.
void window_read_sent(struct window *w, int64_t now_ns);

// After a complete read: call window_shown_all once, then window_shown for each token that it
// showed and that was not taken.
void window_shown_all(struct window *w, int64_t now_ns);
void window_shown(struct window *w, int64_t id);

// Call it when producers are told to announce no more. They have announced every token that came
// before now_ns, so one without an announcement comes after it.
void window_all_announced(struct window *w, int64_t now_ns);

// Call it when the read gave a full line and may have left tokens. `announced`: producers announce
// every token, so one without an announcement came after the read was sent.
void window_shown_full(struct window *w, bool announced);

// Call it for each token of the line that is about to be written. Returns since when the token
// waits: since its announcement; without one, since we sent the last complete read that did not
// show it, though it may have come later than that. CLOCK_NEVER: no such read is known (seen_ns).
int64_t window_taken(struct window *w, int64_t id, int64_t now_ns);

// Call it when we stand by: the holder may take tokens of which we know nothing.
void window_stood_by(struct window *w);

// Returns when to read next; 0: at once; CLOCK_NEVER: nothing is known to wait.
int64_t window_due_ns(const struct window *w);

// Returns when the first token has waited long enough for a batch that is not full; CLOCK_NEVER:
// nothing is known to wait.
int64_t window_timeout_ns(const struct window *w);

// Returns when to look for a full batch, while tokens come so fast that looks are cheaper than
// having each token announced; otherwise CLOCK_NEVER. `looking`: we look for tokens already.
int64_t window_look_ns(struct window *w, bool looking, int64_t now_ns);
