#include "field/rates.h"

#include "field/asking.h"

#define RATE_LEAST 100 // the search begins with this rate
#define RATE_MOST 6400 // and multiplies it by four up to this rate

// In a cell's text: the queue kept up at RATE_LEAST, though its p99 was too high.
#define KEPT_UP " or more"

// Finds out whether a rate is sustained: no job is lost or left 3 s after the load, and p99 is
// below a second. Such a rate is shown in the cell. False when the run could not be made.
static bool try_rate(
    struct field_run *f, size_t row, int rate, int seed, bool *sustained, struct err *e)
{
    struct cell *c = cell_of_speed(f, row, SPEED_RATE);
    struct experiment x = asking_experiment(f, row, question_burst, seed);
    struct answer a;

    x.rate = rate;
    x.drain_s = 3;
    const bool planned = false; // how many rates are tried depends on the answers
    if (!asking_answer(f, row, &x, planned, &a, e))
        return false;
    *sustained = answer_is_sustained(&a, 1000);
    // The cell shows the last rate that was sustained, until fill_rate replaces it.
    if (*sustained) {
        experiment_command(&x, c->command, sizeof c->command);
        // With EXPERIMENT_RATE, no " at 400/s" follows: the figure is the rate itself.
        cell_show_figure(c, rate, 0, "/s", EXPERIMENT_RATE);
    } else if (rate == RATE_LEAST && answer_keeps_up(&a)) {
        // A queue that polls once a second keeps up at this rate although its p99 is above a
        // second. "below 100/s" would wrongly call it slow.
        experiment_command(&x, c->command, sizeof c->command);
        c->mark = CELL_FIGURE;
        snprintf(c->text, sizeof c->text, "%d/s" KEPT_UP ", p99 %.0f ms", rate, a.p99);
    }
    return true;
}

struct rate_search {
    int good;  // the highest sustained rate; 0: none
    int lower; // the rate that was sustained before `good`; 0: none
    int bad;   // the lowest rate that failed, or one that is too high to be tried
};

// Tries a rate with seed 1 and takes what came of it into the search.
static bool narrow_rates(
    struct field_run *f, size_t row, int rate, struct rate_search *s, struct err *e)
{
    bool sustained = false;

    if (!try_rate(f, row, rate, 1, &sustained, e))
        return false;
    if (sustained)
        *s = (struct rate_search){.good = rate, .lower = s->good, .bad = s->bad};
    else
        s->bad = rate;
    return true;
}

// Searches for the highest rate: multiplies by four until a rate fails, then halves the gap twice.
// False when a run could not be made.
static bool search_rate(struct field_run *f, size_t row, struct rate_search *s, struct err *e)
{
    *s = (struct rate_search){.bad = RATE_MOST * 4};
    for (int rate = RATE_LEAST; rate < s->bad; rate *= 4) {
        if (!narrow_rates(f, row, rate, s, e))
            return false;
    }
    for (int i = 0; s->good > 0 && i < 2; i++) {
        if (!narrow_rates(f, row, s->good + (s->bad - s->good) / 2, s, e))
            return false;
    }
    return true;
}

// Fills in the cell of the highest rate. This rate must be sustained with a second seed, too;
// otherwise the lower rate counts, if it is sustained with that seed. False only after a signal.
static bool fill_rate(struct field_run *f, size_t row, struct err *e)
{
    struct cell *c = cell_of_speed(f, row, SPEED_RATE);
    struct rate_search s;
    bool confirmed = true;

    if (!search_rate(f, row, &s, e) || (s.good > 0 && !try_rate(f, row, s.good, 2, &confirmed, e)))
        return cell_note_failure(c, e);
    if (!confirmed && s.lower > 0 && !try_rate(f, row, s.lower, 2, &confirmed, e))
        return cell_note_failure(c, e);
    // No rate counts: none was sustained, or none with both seeds. If the queue at least kept up at
    // the lowest rate, the cell says so. Otherwise all that is known is an upper bound.
    if ((s.good == 0 || !confirmed) && !strstr(c->text, KEPT_UP)) {
        c->command[0] = '\0';
        c->mark = CELL_FIGURE;
        snprintf(c->text, sizeof c->text, "below %d/s", s.good == 0 ? RATE_LEAST : s.good);
    }
    return true;
}

bool rates_fill(struct field_run *f, struct err *e)
{
    for (size_t row = 0; row < f->grid.row_count; row++) {
        struct cell *c = cell_of_speed(f, row, SPEED_RATE);
        snprintf(c->text, sizeof c->text, "not asked");
        if (asking_possible(f, row) && !f->options->field.quick && !fill_rate(f, row, e))
            return false;
    }
    return true;
}
