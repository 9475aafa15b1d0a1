#include "timing/window.h"

// An announcement that comes this soon after its token was taken belongs to that token. Later, the
// same id means another token, because a table may have been truncated and its ids begin again.
#define TAKEN_NS NS_PER_S

// If two looks are no further apart than this, a token that came between them is taken to have come
// at the time of the second. So it waits for its timeout and up to this much longer.
#define SOON_NS (40 * NS_PER_MS)

// The longest time between two looks that follow each other while up to 500 tokens wait (flow.h):
// LONGEST_NS of flow.c, and 25 ms for the answer.
#define APART_NS (75 * NS_PER_MS)

// What is known of an id: it was announced, a read showed it without an announcement, or it was
// taken.
enum id_state { UNKNOWN, ANNOUNCED, SHOWN, TAKEN };

struct window_entry {
    int64_t id;
    int64_t at_ns; // when the token was announced or taken; SHOWN: when it is assumed to have come
    enum id_state state;
    int32_t before_ms; // how long before at_ns its wait began; -1: unknown
};

bool window_init(struct window *w, int limit, int64_t timeout_ns, struct err *e)
{
    size_t size = 1024;

    // Room for the ids of four batches, so that few ids share an entry.
    while (size < 4 * (size_t)limit)
        size *= 2;
    *w = (struct window){.limit = limit, .timeout_ns = timeout_ns, .mask = size - 1};
    w->memory = calloc(size, sizeof *w->memory);
    if (!w->memory)
        return err_memory_for(e, "a batch limit of %d", limit);
    w->seen_ns = w->committed_after_ns = CLOCK_NEVER;
    window_restart(w, 0);
    return true;
}

void window_fini(struct window *w)
{
    free(w->memory);
    *w = (struct window){0};
}

void window_restart(struct window *w, int64_t now_ns)
{
    w->shown = w->missed = w->fresh = (struct window_group){.first_ns = CLOCK_NEVER};
    w->reading_ns = w->complete_ns = w->came_after_ns = w->assumed_ns = now_ns;
    w->flow = (struct flow){.since_ns = now_ns, .arrived = w->taken};
    w->unannounced = 0;
    w->full = false;
    for (size_t i = 0; i <= w->mask; i++)
        w->memory[i] = (struct window_entry){0};
}

// Adds a token that came at this time to a group.
static void join_group(struct window_group *g, int64_t at_ns)
{
    g->first_ns = g->count > 0 ? clock_min(g->first_ns, at_ns) : at_ns;
    g->count++;
}

// Takes a token out of a group. It is not known which of the tokens that stay came first, so
// first_ns keeps its value until the group is empty.
static void leave_group(struct window_group *g)
{
    if (g->count > 0 && --g->count == 0)
        g->first_ns = CLOCK_NEVER;
}

// Returns the entry for this id. If the entry was that of another id, it forgets that id.
static struct window_entry *recall(struct window *w, int64_t id)
{
    struct window_entry *entry = &w->memory[(size_t)id & w->mask];

    if (entry->id != id)
        *entry = (struct window_entry){.id = id};
    return entry;
}

// Tells the pace that an announced token arrived, unless the pace knows of it. `before`: what was
// known of the token before. A token that a read showed or took before its announcement (late) was
// counted in w->unannounced. If that is 0 again, tell_pace_unannounced has told the pace of it.
static void tell_pace_announced(
    struct window *w, const struct window_entry *entry, enum id_state before, int64_t now_ns)
{
    bool late = before == SHOWN || (before == TAKEN && now_ns - entry->at_ns < TAKEN_NS);

    if (before == ANNOUNCED || (late && w->unannounced == 0))
        return;
    if (late)
        w->unannounced--;
    pace_arrived(&w->pace, now_ns);
}

void window_announce(struct window *w, int64_t id, int64_t now_ns)
{
    // An announcement without an id always counts as that of a new token.
    struct window_entry *entry = id == 0 ? NULL : recall(w, id);
    enum id_state before = entry ? entry->state : UNKNOWN;

    tell_pace_announced(w, entry, before, now_ns);
    if (before == TAKEN && now_ns - entry->at_ns < TAKEN_NS)
        return; // the announcement of a token that went out already
    // Anybody can announce any id. So a repeated announcement does not make the token younger. But
    // it counts as another token, because the one before may have been false.
    if (entry && before != ANNOUNCED)
        *entry = (struct window_entry){.id = id, .at_ns = now_ns, .state = ANNOUNCED};
    if (before == SHOWN) {
        leave_group(&w->missed);
        join_group(&w->shown, now_ns);
    } else {
        join_group(&w->fresh, now_ns);
    }
}

// Tells the pace of tokens that were not announced, as if they had come evenly between the last
// arrival before them and the read that shows them.
static void tell_pace_unannounced(struct window *w)
{
    int64_t from_ns = clock_max(w->pace.last_ns, w->came_after_ns);
    int64_t span_ns = clock_max(0, w->reading_ns - from_ns);

    for (int i = 1; i <= w->unannounced && w->pace.levels > 0; i++)
        pace_arrived(&w->pace, from_ns + span_ns / w->unannounced * i);
    w->unannounced = 0;
}

void window_read_sent(struct window *w, int64_t now_ns)
{
    // The tokens that the last read showed could still be announced until now. Those that were not
    // are unannounced for good.
    tell_pace_unannounced(w);
    // The answer to this read may show every token that was announced so far, so these are not
    // fresh any more.
    w->shown.count += w->fresh.count;
    w->shown.first_ns = clock_min(w->shown.first_ns, w->fresh.first_ns);
    w->fresh = (struct window_group){.first_ns = CLOCK_NEVER};
    w->reading_ns = now_ns;
    w->committed_after_ns = w->seen_ns;
}

void window_shown_all(struct window *w, int64_t now_ns)
{
    int64_t settle_ns = clock_min(WINDOW_SETTLE_NS, w->timeout_ns);

    // The caller names each token that waits, by window_shown, so the counts begin at 0.
    w->shown = w->missed = (struct window_group){.first_ns = CLOCK_NEVER};
    bool soon = w->reading_ns - w->complete_ns <= SOON_NS;
    // A token that this read is the first to show came after the complete read before. But its
    // timeout must not be over before its announcement had time to come in.
    w->came_after_ns = w->complete_ns;
    if (w->came_after_ns + w->timeout_ns < now_ns + settle_ns)
        w->came_after_ns = now_ns + settle_ns - w->timeout_ns;
    // If that complete read was not long ago (soon), a token without an announcement is taken to
    // have come at the time of this read.
    w->assumed_ns = soon ? clock_max(w->reading_ns, w->came_after_ns) : w->came_after_ns;
    w->complete_ns = w->seen_ns = w->reading_ns;
    w->full = false;
}

void window_all_announced(struct window *w, int64_t now_ns)
{
    w->complete_ns = now_ns;
}

// A full line may leave tokens over. One that was not announced would be taken to be as old as the
// last complete read, and would go out in a short line before its timeout. So complete_ns becomes
// the time of this read, if the unannounced tokens that are left over are known to be young:
// producers announce every token, or the last complete read was not long ago. After another full
// read (full) it stays: a backlog is read in many reads, and its last tokens may be as old as its
// first.
void window_shown_full(struct window *w, bool announced)
{
    int64_t apart_ns = clock_min(APART_NS, w->timeout_ns);
    bool young = announced || w->reading_ns - w->complete_ns <= apart_ns;

    if (young && !w->full)
        w->complete_ns = w->reading_ns;
    w->full = true;
}

// Returns the time between two times in ms, at least 0; -1: from_ns is not known (CLOCK_NEVER).
static int32_t in_ms(int64_t from_ns, int64_t to_ns)
{
    if (from_ns == CLOCK_NEVER)
        return -1;
    return (int32_t)clock_max(0, clock_min((to_ns - from_ns) / NS_PER_MS, INT32_MAX));
}

void window_shown(struct window *w, int64_t id)
{
    struct window_entry *entry = recall(w, id);

    if (entry->state == ANNOUNCED) {
        // The announcement came after the read was sent, and before its answer.
        if (entry->at_ns > w->reading_ns)
            leave_group(&w->fresh);
        join_group(&w->shown, entry->at_ns);
        return;
    }
    // The time of an unannounced token is assumed when a read first shows it, and then kept:
    // otherwise each look would make the token younger, and its batch later.
    if (entry->state != SHOWN) {
        *entry = (struct window_entry){.id = id,
            .at_ns = w->assumed_ns,
            .state = SHOWN,
            .before_ms = in_ms(w->committed_after_ns, w->assumed_ns)};
        w->unannounced++;
    }
    join_group(&w->missed, entry->at_ns);
}

// Returns since when the token of this entry waits, as window_taken does.
static int64_t waits_since(const struct window *w, const struct window_entry *entry)
{
    if (entry->state == UNKNOWN)
        return w->committed_after_ns;
    return entry->before_ms < 0 ? CLOCK_NEVER : entry->at_ns - entry->before_ms * NS_PER_MS;
}

int64_t window_taken(struct window *w, int64_t id, int64_t now_ns)
{
    struct window_entry *entry = recall(w, id);
    int64_t since_ns = waits_since(w, entry);

    if (entry->state == SHOWN)
        leave_group(&w->missed);
    else if (entry->state == ANNOUNCED)
        leave_group(entry->at_ns > w->reading_ns ? &w->fresh : &w->shown);
    else if (entry->state == UNKNOWN)
        w->unannounced++;
    w->taken++;
    *entry = (struct window_entry){
        .id = id, .at_ns = now_ns, .state = TAKEN, .before_ms = in_ms(since_ns, now_ns)};
    return since_ns;
}

void window_stood_by(struct window *w)
{
    w->seen_ns = CLOCK_NEVER;
}

int64_t window_timeout_ns(const struct window *w)
{
    int64_t first_ns =
        clock_min(w->shown.first_ns, clock_min(w->missed.first_ns, w->fresh.first_ns));

    return first_ns == CLOCK_NEVER ? CLOCK_NEVER : pace_due_ns(&w->pace, first_ns, w->timeout_ns);
}

static int count_waiting(const struct window *w)
{
    return w->shown.count + w->missed.count + w->fresh.count;
}

int64_t window_due_ns(const struct window *w)
{
    return count_waiting(w) >= w->limit ? 0 : window_timeout_ns(w);
}

int64_t window_look_ns(struct window *w, bool looking, int64_t now_ns)
{
    // The present timeout: the time at which a batch fires whose first token came at 0.
    int64_t timeout_ns = pace_due_ns(&w->pace, 0, w->timeout_ns), pause_ns;

    flow_count(&w->flow, looking, w->taken + count_waiting(w), now_ns);
    pause_ns = flow_pause_ns(&w->flow, looking, count_waiting(w), w->limit, timeout_ns);
    return pause_ns == CLOCK_NEVER ? CLOCK_NEVER : now_ns + pause_ns;
}
