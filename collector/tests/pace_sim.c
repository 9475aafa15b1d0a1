#include "pace_sim.h"

#include <math.h>

#include "timing/window.h"

#define WARM 100000
#define TOKENS 20000
#define LEAST_NS (20 * NS_PER_MS)
#define MOST_NS (500 * NS_PER_MS)
#define STEP_NS (10 * NS_PER_MS)

const struct pace_load pace_loads[] = {
    {.per_s = 1, .limit = 10},
    {.per_s = 2, .limit = 10},
    {.per_s = 5, .limit = 10},
    {.per_s = 10, .limit = 10},
    {.per_s = 20, .limit = 10},
    {.per_s = 30, .limit = 10},
    {.per_s = 40, .limit = 10},
    {.per_s = 50, .limit = 10},
    {.per_s = 60, .limit = 10},
    {.per_s = 70, .limit = 10},
    {.per_s = 80, .limit = 10},
    {.per_s = 100, .limit = 10},
    {.per_s = 200, .limit = 10},
    {.per_s = 500, .limit = 10},
    {.per_s = 1000, .limit = 10},
    {.per_s = 2000, .limit = 10},
    {.per_s = 1, .limit = 50},
    {.per_s = 2, .limit = 50},
    {.per_s = 5, .limit = 50},
    {.per_s = 10, .limit = 50},
    {.per_s = 20, .limit = 50},
    {.per_s = 30, .limit = 50},
    {.per_s = 40, .limit = 50},
    {.per_s = 50, .limit = 50},
    {.per_s = 60, .limit = 50},
    {.per_s = 70, .limit = 50},
    {.per_s = 80, .limit = 50},
    {.per_s = 100, .limit = 50},
    {.per_s = 200, .limit = 50},
    {.per_s = 500, .limit = 50},
    {.per_s = 1000, .limit = 50},
    {.per_s = 2000, .limit = 50},
    {.per_s = 0.2, .size = 1000, .burst_per_s = 500, .limit = 10},
    {.per_s = 0.2, .size = 1000, .burst_per_s = 500, .limit = 50},
    {.per_s = 0.5, .size = 100, .burst_per_s = 1000, .limit = 10},
    {.per_s = 0.5, .size = 100, .burst_per_s = 1000, .limit = 50},
    {.per_s = 1, .size = 30, .burst_per_s = 1000, .limit = 10},
    {.per_s = 1, .size = 30, .burst_per_s = 1000, .limit = 50},
    {.per_s = 1, .size = 30, .burst_per_s = 100, .limit = 50},
    {.per_s = 1, .size = 10, .burst_per_s = 100, .limit = 50},
    {.per_s = 2, .size = 3, .burst_per_s = 200, .limit = 50},
    {.per_s = 1, .size = 100, .limit = 10},
    {.per_s = 1, .size = 100, .limit = 50},
    {.per_s = 1, .size = 15, .limit = 10},
    {.per_s = 1, .size = 2, .limit = 10},
    {.per_s = 2, .singles = 10, .size = 100, .burst_per_s = 1000, .limit = 10},
    {.per_s = 2, .singles = 10, .size = 100, .burst_per_s = 1000, .limit = 50},
    {.per_s = 2, .singles = 10, .size = 30, .burst_per_s = 1000, .limit = 50},
    {.per_s = 2, .singles = 100, .size = 100, .burst_per_s = 1000, .limit = 10},
    {.per_s = 2, .singles = 100, .size = 1000, .burst_per_s = 400, .limit = 10},
    {.per_s = 2, .singles = 100, .size = 1000, .burst_per_s = 400, .limit = 50},
    {.per_s = 10, .singles = 100, .size = 1000, .burst_per_s = 400, .limit = 10},
    {.per_s = 10, .singles = 100, .size = 1000, .burst_per_s = 400, .limit = 50},
};
const int pace_load_count = sizeof pace_loads / sizeof *pace_loads;

const char *pace_load_name(const struct pace_load *l, char *text, size_t size)
{
    char rate[32] = "once";

    if (l->burst_per_s > 0)
        snprintf(rate, sizeof rate, "%g/s", l->burst_per_s);
    if (l->size == 0)
        snprintf(text, size, "%.4g/s", l->per_s);
    else if (l->singles == 0)
        snprintf(text, size, "%d at %s, %.4g times a second", l->size, rate, l->per_s);
    else
        snprintf(text, size, "%d at %s after %d at %.4g/s", l->size, rate, l->singles, l->per_s);
    return text;
}

// Draws a number between 0 and 1, but never 0, with xorshift64*.
static double uniform(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return ((double)(*state * UINT64_C(0x2545F4914F6CDD1D) >> 11) + 1) / 9007199254740993.0;
}

// Draws a number between the two; each order of magnitude is equally likely.
static double between(uint64_t *state, double least, double most)
{
    return exp(log(least) + uniform(state) * log(most / least));
}

struct pace_load pace_draw(enum pace_kind kind, uint64_t seed)
{
    static const int limits[] = {5, 10, 20, 50, 100, 200};
    uint64_t state = 88172645463325252 + seed * 7919;

    uniform(&state);
    struct pace_load l = {.limit = limits[(int)(uniform(&state) * 6) % 6]};
    if (kind == PACE_STEADY) {
        l.per_s = between(&state, 2, 2000);
        return l;
    }
    l.per_s = between(&state, 0.2, 5);
    l.size = (int)between(&state, 2, 1000);
    if (uniform(&state) > 0.1)
        l.burst_per_s = round(between(&state, 30, 3000));
    if (kind == PACE_BURSTS_IN_A_TRICKLE)
        l.singles = (int)between(&state, 1, 300);
    return l;
}

static int64_t gap_ns(uint64_t *state, double per_s)
{
    return (int64_t)(-log(uniform(state)) / per_s * 1e9);
}

static void arrive(int64_t *at_ns, const struct pace_load *l)
{
    uint64_t state = 88172645463325252;
    int64_t now_ns = NS_PER_S;

    for (int i = 0; i < WARM + TOKENS; i++) {
        bool of_burst = l->size > 0 && i % (l->singles + l->size) > l->singles;
        if (!of_burst)
            now_ns += gap_ns(&state, l->per_s);
        else if (l->burst_per_s > 0)
            now_ns += gap_ns(&state, l->burst_per_s);
        at_ns[i] = now_ns;
    }
}

static int fire(
    struct window *w, int next, int until, int64_t now_ns, int64_t *delay, const int64_t *at)
{
    window_read_sent(w, now_ns);
    for (int i = next; i < until; i++) {
        delay[i] = now_ns - at[i];
        window_taken(w, i + 1, now_ns);
    }
    window_shown_all(w, now_ns);
    return until;
}

// Runs the real window. Returns how many lines hold the judged tokens.
static int adaptive(const int64_t *at, int limit, int64_t *delay)
{
    struct window w;
    struct err e;
    int lines = 0, next = 0;

    if (!window_init(&w, limit, MOST_NS, &e))
        abort();
    pace_init(&w.pace, LEAST_NS, MOST_NS, limit);
    for (int i = 0; i < WARM + TOKENS; i++) {
        int64_t due_ns = window_due_ns(&w);
        if (next < i && due_ns < at[i]) {
            next = fire(&w, next, i, due_ns > at[i - 1] ? due_ns : at[i - 1], delay, at);
            lines += i > WARM;
        }
        window_announce(&w, i + 1, at[i]);
        if (window_due_ns(&w) == 0) {
            next = fire(&w, next, i + 1, at[i], delay, at);
            lines += i >= WARM;
        }
    }
    if (next < WARM + TOKENS) {
        fire(&w, next, WARM + TOKENS, window_due_ns(&w), delay, at);
        lines++;
    }
    window_fini(&w);
    return lines;
}

// Returns how many lines a fixed pair writes. If more than 1% of the tokens wait longer than the
// bound, returns a number above that of the tokens.
static int fixed(const int64_t *at, int limit, int64_t timeout_ns, int64_t bound_ns)
{
    int lines = 0, slower = 0;

    for (int next = 0; next < TOKENS; lines++) {
        int until = next;
        while (until < TOKENS && until - next < limit && at[until] <= at[next] + timeout_ns)
            until++;
        int64_t fired_ns = until - next == limit ? at[until - 1] : at[next] + timeout_ns;
        for (; next < until; next++)
            slower += fired_ns - at[next] > bound_ns;
        if (slower > TOKENS / 100)
            return TOKENS + 1;
    }
    return lines;
}

static int try_pair(struct pace_figures *f, const int64_t *at, int limit, int64_t timeout_ns,
    int64_t bound_ns, int best)
{
    int lines = fixed(at, limit, timeout_ns, bound_ns);

    if (lines >= best)
        return best;
    f->best_limit = limit;
    f->best_ms = (double)timeout_ns / 1e6;
    return lines;
}

static int best_fixed(struct pace_figures *f, const int64_t *at, int limit, int64_t bound_ns)
{
    int best = TOKENS + 1;

    for (int l = 1; l <= limit; l += l < 10 ? 1 : 5) {
        best = try_pair(f, at, l, bound_ns, bound_ns, best);
        for (int64_t t_ns = 0; t_ns <= MOST_NS; t_ns += STEP_NS)
            best = try_pair(f, at, l, t_ns, bound_ns, best);
    }
    return best;
}

void pace_print_trace(const struct pace_load *l)
{
    static int64_t at[WARM + TOKENS];

    arrive(at, l);
    for (int i = WARM; i < WARM + TOKENS; i++)
        printf("%.9f\n", (double)(at[i] - at[WARM]) / 1e9);
}

struct pace_figures pace_compare(const struct pace_load *l)
{
    static int64_t at[WARM + TOKENS], delay[WARM + TOKENS];
    struct pace_figures f = {0};

    arrive(at, l);
    int lines = adaptive(at, l->limit, delay);
    qsort(delay + WARM, TOKENS, sizeof *delay, clock_compare);
    int64_t p99_ns = delay[WARM + TOKENS - 1 - TOKENS / 100];
    int best = best_fixed(&f, at + WARM, l->limit, p99_ns);
    assert(delay[WARM] >= 0 && delay[WARM + TOKENS - 1] <= MOST_NS);
    f.p99_ms = (double)p99_ns / 1e6;
    f.batch = (double)TOKENS / lines;
    f.best = (double)TOKENS / best;
    f.share = (double)best / lines;
    return f;
}
