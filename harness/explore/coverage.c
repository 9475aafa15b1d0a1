#include "explore/search_record.h"

// A fault still has effects for this long after its end, so a fault that begins in this time
// overlaps it.
static const double aftermath_s = 0.1;

// What each newly covered cell of a table adds to a scenario's gain.
enum { GAIN_PAIR = 4, GAIN_MODE = 2, GAIN_STATE = 1 };

static bool faults_overlap(double a_from, double a_to, double b_from, double b_to)
{
    return a_from <= b_to + aftermath_s && b_from <= a_to + aftermath_s;
}

// Returns the place of a pair's count; it is stored once, at [lower verb][higher verb].
static unsigned *pair_count(struct coverage *c, size_t a, size_t b)
{
    return a < b ? &c->pairs[a][b] : &c->pairs[b][a];
}

void coverage_add(struct coverage *c, const struct tried *t)
{
    c->draws[t->mode]++;
    for (size_t i = 0; i < t->met_count; i++) {
        const struct met *a = &t->met[i];
        c->states[a->verb][a->state]++;
        c->modes[t->mode][a->verb]++;
        for (size_t j = 0; j < i; j++) {
            const struct met *b = &t->met[j];
            if (a->verb != b->verb && faults_overlap(a->from_s, a->to_s, b->from_s, b->to_s))
                (*pair_count(c, a->verb, b->verb))++;
        }
    }
}

// --- what is worth trying --------------------------------------------------------------

// Returns the index into verbs[] of a planned fault's verb.
static size_t planned_verb(const struct scenario *s, const struct plan *plan, size_t fault)
{
    return (size_t)(s->faults[plan->faults[fault].spec].verb - verbs);
}

// Returns how many states of the connection this verb has not met yet.
static unsigned unseen_states(const struct coverage *c, size_t verb)
{
    unsigned count = 0;

    for (int state = EXCHANGE_NONE; state < EXCHANGE_STATES; state++)
        count += c->states[verb][state] == 0;
    return count;
}

// Counts each newly covered cell once: it is marked as seen in a copy of the coverage. A verb's
// unseen states are counted once, too.
unsigned coverage_gain(const struct coverage *c, const struct scenario *s, const struct plan *plan)
{
    struct coverage seen = *c;
    bool states_counted[DRAW_VERBS_MAX] = {false};
    enum mode mode = mode_of(s);
    unsigned gain = c->draws[mode] == 0; // 1 for a mode that no draw has had

    for (size_t i = 0; i < plan->fault_count; i++) {
        const struct plan_fault *a = &plan->faults[i];
        size_t verb = planned_verb(s, plan, i);
        // A busy fault collides with an earlier one, so the run leaves it out.
        if (a->busy)
            continue;
        gain += seen.modes[mode][verb]++ == 0 ? GAIN_MODE : 0;
        gain += states_counted[verb] ? 0 : GAIN_STATE * unseen_states(c, verb);
        states_counted[verb] = true;
        for (size_t j = 0; j < i; j++) {
            const struct plan_fault *b = &plan->faults[j];
            size_t other = planned_verb(s, plan, j);
            if (verb != other && !b->busy &&
                faults_overlap((double)a->at_ns / NS_PER_S, (double)a->end_ns / NS_PER_S,
                    (double)b->at_ns / NS_PER_S, (double)b->end_ns / NS_PER_S))
                gain += (*pair_count(&seen, verb, other))++ == 0 ? GAIN_PAIR : 0;
        }
    }
    return gain;
}

// --- how much is covered ---------------------------------------------------------------

struct coverage_share coverage_states(const struct coverage *c, const struct draw_limits *limits)
{
    struct coverage_share share = {0};

    for (size_t verb = 0; verb < VERB_COUNT; verb++) {
        // EXCHANGE_UNSEEN, which comes before these, does not count: the fault met a state, but no
        // proxy saw which.
        for (int state = EXCHANGE_NONE; draw_allows(limits, verb) && state < EXCHANGE_STATES;
             state++) {
            share.of++;
            share.seen += c->states[verb][state] > 0;
        }
    }
    return share;
}

struct coverage_share coverage_pairs(const struct coverage *c, const struct draw_limits *limits)
{
    struct coverage_share share = {0};

    for (size_t a = 0; a < VERB_COUNT; a++) {
        for (size_t b = a + 1; b < VERB_COUNT; b++) {
            bool both = draw_allows(limits, a) && draw_allows(limits, b);
            share.of += both;
            share.seen += both && c->pairs[a][b] > 0;
        }
    }
    return share;
}

struct coverage_share coverage_modes(const struct coverage *c, const struct draw_limits *limits)
{
    struct coverage_share share = {0};

    for (int mode = 0; mode < MODES; mode++) {
        for (size_t verb = 0; verb < VERB_COUNT; verb++) {
            // Not every collector has leased mode, so this mode counts only after a draw in it.
            bool counts = draw_allows(limits, verb) && (mode < MODE_LEASED || c->draws[mode] > 0);
            share.of += counts;
            share.seen += counts && c->modes[mode][verb] > 0;
        }
    }
    return share;
}
