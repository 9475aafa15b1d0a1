#include "timing/pace.h"

// pace.h gives the reasons for these values.
#define COST_FIRST_STEP 20   // the cost of a line at the step from 0, in units of `least`
#define GAIN_TO_BEGIN 1.25   // the gain, divided by the cost, at which a wait begins to be worth it
#define GAIN_TO_STAY 0.8     // the gain, divided by the cost, at which it ceases to be worth it
#define EVIDENCE_LONGER 40   // the evidence that a longer wait needs, in units of `least`
#define EVIDENCE_SHORTER 160 // the evidence that a shorter wait needs, in units of `least`

static void add_level(struct pace *p, int64_t timeout_ns)
{
    p->level[p->levels++] = (struct pace_level){.timeout_ns = timeout_ns};
}

// Returns the lowest balance that a level may have. The decision changes when the balance rises
// above 0. The timeout of level 1 is `least`.
static double lowest_balance(const struct pace *p, const struct pace_level *l)
{
    return -(double)p->level[1].timeout_ns * (l->next_worth ? EVIDENCE_SHORTER : EVIDENCE_LONGER);
}

void pace_init(struct pace *p, int64_t least_ns, int64_t most_ns, int limit)
{
    *p = (struct pace){.limit = limit};
    if (least_ns == 0)
        return;
    add_level(p, 0);
    // A level above two thirds of the upper bound would hardly differ from the last level. So if
    // `least` is above that, level 1 is the upper bound, which then counts as `least`.
    for (int64_t t = least_ns; t < most_ns / 3 * 2 && p->levels < PACE_LEVELS - 1; t *= 2)
        add_level(p, t);
    add_level(p, most_ns);
    // At the beginning no level has evidence (its balance) that a wait for the next one is worth
    // it.
    for (int i = 0; i + 1 < p->levels; i++)
        p->level[i].balance = lowest_balance(p, &p->level[i]);
}

// Adds a cost to a level's balance: the cost of its own imagined line or, with `next`, that of the
// next level's imagined line. A line costs something when it begins (`begun`), and more for the
// time that it is held open (held_ns). The timeout of level 1 is `least`.
static void add_cost(struct pace *p, int level, bool next, bool begun, int64_t held_ns)
{
    struct pace_level *l = &p->level[level];
    double begin_cost = (double)p->level[1].timeout_ns * (level == 0 ? COST_FIRST_STEP : 1);
    double cost =
        (begun ? begin_cost : 0) + (l->next_worth ? GAIN_TO_STAY : GAIN_TO_BEGIN) * (double)held_ns;

    // The balance is evidence against the present decision, next_worth. Costs of the line that the
    // decision favours raise the balance, and those of the other line lower it.
    l->balance += next == l->next_worth ? cost : -cost;
    if (l->balance > 0) {
        l->next_worth = !l->next_worth;
        l->balance = lowest_balance(p, l);
    } else if (l->balance < lowest_balance(p, l)) {
        l->balance = lowest_balance(p, l);
    }
}

// Adds the cost of a level's imagined line to the balances in which it counts: that of the level
// before, which weighs whether this level is worth its wait, and its own.
static void add_line_cost(struct pace *p, int level, bool begun, int64_t held_ns)
{
    if (level > 0)
        add_cost(p, level - 1, true, begun, held_ns);
    if (level + 1 < p->levels)
        add_cost(p, level, false, begun, held_ns);
}

// Adds an arrival to the imagined line of a level.
static void add_arrival(struct pace *p, int level, int64_t now_ns)
{
    struct pace_level *l = &p->level[level];
    int64_t due_ns = l->first_ns + l->timeout_ns;

    if (l->count > 0) {
        // The line was held open since the last arrival, but not after its timeout.
        add_line_cost(p, level, false, clock_min(now_ns, due_ns) - p->last_ns);
        if (now_ns > due_ns)
            l->count = 0;
    }
    if (l->count++ == 0) {
        add_line_cost(p, level, true, 0);
        l->first_ns = now_ns;
    }
    if (l->count >= p->limit)
        l->count = 0;
}

void pace_arrived(struct pace *p, int64_t now_ns)
{
    // Downwards, so a balance gets the cost of the next level before that of its own. The other
    // order would decide nearly the same.
    for (int i = p->levels - 1; i >= 0; i--)
        add_arrival(p, i, now_ns);
    p->last_ns = now_ns;
    // The level in use is the last one that is reached by steps that are each worth their wait.
    for (p->in_use = 0; p->in_use + 1 < p->levels && p->level[p->in_use].next_worth;)
        p->in_use++;
}

int64_t pace_due_ns(const struct pace *p, int64_t first_ns, int64_t timeout_ns)
{
    return first_ns +
           (p->levels == 0 ? timeout_ns : clock_min(p->level[p->in_use].timeout_ns, timeout_ns));
}
