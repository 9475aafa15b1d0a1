#include "field/rates.h"

#include "field/asking.h"

#define RATE_LEAST 100 // the search begins with this rate
#define RATE_MOST 6400 // and multiplies it by four up to this rate

// In a cell's text: the queue kept up at RATE_LEAST, though its p99 was too high.
#define KEPT_UP " or more"

// Finds out whether a rate is sustained: no job is lost or left 3 s after the load, and p99 is
// below a second. Shows the rate in the cell if so. False when the run could not be made.
static bool try_rate(
    struct field_run *f, size_t row, int rate, int seed, bool *sustained, struct err *e)
{
    struct cell *c = cell_of_speed(f, row, SPEED_RATE);
    struct experiment x = asking_experiment(f, row, question_burst, seed);
    struct answer a;

    x.rate = rate;
    x.drain_s = 3;
    if (!asking_answer(f, row, &x, false, &a, e))
        return false;
    *sustained = answer_is_sustained(&a, 1000);
    // The cell shows the last rate that was sustained. fill_rate replaces it by a bound if it does
    // not hold with a second seed.
    if (*sustained) {
        experiment_command(&x, c->command, sizeof c->command);
        // The figure is the rate itself. With EXPERIMENT_RATE, no second one is appended to it.
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

// Searches for the highest rate with seed 1: multiplies by four until a rate fails, then halves the
// gap twice. *good becomes the highest sustained rate, *lower the one sustained before it. Both
// must be 0 at first, and stay 0 if there is none. False when a run could not be made.
static bool search_rate(struct field_run *f, size_t row, int *good, int *lower, struct err *e)
{
    int bad = RATE_MOST * 4; // the lowest rate that failed; none from RATE_MOST * 4 on is tried
    bool sustained = true;

    for (int rate = RATE_LEAST; sustained && rate <= RATE_MOST; rate *= 4) {
        if (!try_rate(f, row, rate, 1, &sustained, e))
            return false;
        // fill_rate needs the lower rate if the highest one fails with another seed.
        *lower = sustained ? *good : *lower;
        // The rate is the highest good one so far, or else the lowest bad one.
        *(sustained ? good : &bad) = rate;
    }
    for (int i = 0; *good > 0 && i < 2; i++) {
        int rate = *good + (bad - *good) / 2;
        if (!try_rate(f, row, rate, 1, &sustained, e))
            return false;
        *lower = sustained ? *good : *lower;
        *(sustained ? good : &bad) = rate;
    }
    return true;
}

// Fills in the cell of the highest rate. This rate must be sustained with a second seed, too;
// otherwise the lower rate counts, if it is sustained with that seed. False only after a signal.
static bool fill_rate(struct field_run *f, size_t row, struct err *e)
{
    struct cell *c = cell_of_speed(f, row, SPEED_RATE);
    int good = 0, lower = 0;
    bool confirmed = true;

    if (!search_rate(f, row, &good, &lower, e) ||
        (good > 0 && !try_rate(f, row, good, 2, &confirmed, e)))
        return cell_note_failure(c, e);
    if (!confirmed && lower > 0 && !try_rate(f, row, lower, 2, &confirmed, e))
        return cell_note_failure(c, e);
    // No rate counts: none was sustained, or none with both seeds. If the queue at least kept up at
    // the lowest rate, the cell says so. Otherwise all that is known is an upper bound.
    if ((good == 0 || !confirmed) && !strstr(c->text, KEPT_UP)) {
        c->command[0] = '\0';
        c->mark = CELL_FIGURE;
        snprintf(c->text, sizeof c->text, "below %d/s", good == 0 ? RATE_LEAST : good);
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
