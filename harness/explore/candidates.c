// Makes draws, and chooses the next one to run among those that wait.
#include "explore/exploring.h"

#include "options/options.h"
#include "os/interrupt.h"
#include "scenario/needs.h"

#define TEXT_MAX (4u << 20)

void candidate_fini(struct candidate *c)
{
    plan_fini(&c->plan);
    scenario_fini(&c->scenario);
    *c = (struct candidate){0};
}

// Makes the draw with this number and writes its scenario to the folder `draws`. If there are
// scenarios to start from (bases), the number chooses one of them. False with e->kind == ERR_NONE
// when the draw is invalid: its scenario cannot be run, for example because it needs what the
// collector does not promise. *impossible then says why.
static bool draw_candidate(struct exploring *x, uint64_t number, struct candidate *c,
    struct err *impossible, struct err *e)
{
    const struct draw_limits *limits = &x->limits[x->base_count ? number % x->base_count : 0];
    char name[40];
    struct buf text FREED_BY(buf_fini) = BUF_INIT(TEXT_MAX);

    *c = (struct candidate){.number = number};
    snprintf(name, sizeof name, "draw-%llu.yaml", (unsigned long long)number);
    draw_scenario(limits, x->seed, number, &text);
    if (!exploring_path(x, c->path, "draws", name, e) || !file_write("out", c->path, &text, e))
        return false;
    bool ok = scenario_load(&c->scenario, c->path, &x->sets, impossible) &&
              needs_met(&c->scenario, impossible) &&
              plan_make(&c->plan, &c->scenario, impossible) &&
              (c->plan.token_count > 0 || err_set(impossible, ERR_USAGE, "its load has no token"));
    if (!ok) {
        unlink(c->path);
        candidate_fini(c);
    }
    return ok;
}

// Returns the draw number at a place in the order: among the numbers that --only lists, otherwise
// among all numbers.
static uint64_t draw_number_at(const struct exploring *x, uint64_t place)
{
    return x->numbers ? x->numbers[place] : place;
}

// Returns how many draw numbers there are to go through; UINT64_MAX: no limit but the time.
static uint64_t draw_number_count(const struct exploring *x)
{
    int draws = x->options->explore.draws;

    if (x->numbers)
        return x->number_count;
    return draws ? (uint64_t)draws : UINT64_MAX;
}

// True when the number is one of this shard, and its draw was not tried yet or is listed in --only.
static bool is_own_draw(const struct exploring *x, uint64_t number)
{
    return record_wants(&x->journal.record, number) &&
           (x->numbers || !journal_has(&x->journal, number));
}

// Sets *number to the next draw number to be tried. False: none is left.
static bool next_draw_number(struct exploring *x, uint64_t *number)
{
    while (x->next < draw_number_count(x) && !is_own_draw(x, draw_number_at(x, x->next)))
        x->next++;
    if (x->next >= draw_number_count(x))
        return false;
    *number = draw_number_at(x, x->next++);
    return true;
}

// There is a last draw only with --draws, or with numbers in --only. Otherwise the search is done
// when its time is over.
bool exploring_done(const struct exploring *x)
{
    if (interrupt_signal())
        return false;
    if (draw_number_count(x) == UINT64_MAX)
        return clock_now_ns() >= x->deadline_ns;
    return x->next >= draw_number_count(x) && x->pool_count == 0;
}

// After more than this many invalid draws at one filling of the pool the search stops, because the
// options hardly allow a valid one.
#define REFUSED_MAX 500

// Fails because the options allow no valid draw; `why` is the reason for this number.
static bool refuse_search(uint64_t number, const struct err *why, struct err *e)
{
    return err_set(e, ERR_USAGE,
        "with these options no draw can be run: see mailproof explore --only and --set; draw %llu: "
        "%.600s",
        (unsigned long long)number, why->text);
}

// Makes draws until EXPLORING_WINDOW wait or no number is left. False after an error.
static bool fill_pool(struct exploring *x, struct err *e)
{
    uint64_t number = 0;
    struct err why = {0};
    int refused = 0;

    while (x->pool_count < EXPLORING_WINDOW && next_draw_number(x, &number)) {
        err_clear(e);
        if (draw_candidate(x, number, &x->pool[x->pool_count], &why, e))
            x->pool_count++;
        else if (e->kind != ERR_NONE)
            return false;
        // A user who lists a number wants just this draw. Otherwise the next number takes its
        // place.
        else if (x->numbers)
            return err_set(e, ERR_USAGE, "draw %llu cannot be run and is left out: %.600s",
                (unsigned long long)number, why.text);
        else if (++refused > REFUSED_MAX)
            return refuse_search(number, &why, e);
    }
    // All numbers were invalid, in this call and in earlier ones. Those of a shard are few, so this
    // may be chance; in a whole search it is not.
    bool none_valid = x->pool_count == 0 && x->taken == 0 && x->journal.tried == 0;
    if (refused > 0 && none_valid && x->options->shard.of == 0)
        return refuse_search(number, &why, e);
    return true;
}

#define OLDEST_EVERY 2 // at every second choice, the oldest of the waiting draws is taken

// Returns the place in the pool of the draw with the lowest number.
static size_t oldest_in_pool(const struct exploring *x)
{
    size_t oldest = 0;

    for (size_t i = 1; i < x->pool_count; i++)
        oldest = x->pool[i].number < x->pool[oldest].number ? i : oldest;
    return oldest;
}

bool exploring_next(struct exploring *x, struct candidate *c, struct err *e)
{
    size_t chosen = 0;
    unsigned most_gain = 0;

    if (!fill_pool(x, e) || x->pool_count == 0)
        return false;
    for (size_t i = 0; i < x->pool_count; i++) {
        unsigned gain = coverage_gain(&x->journal.coverage, &x->pool[i].scenario, &x->pool[i].plan);
        if (gain > most_gain) {
            most_gain = gain;
            chosen = i;
        }
    }
    // Take the oldest draw now and then. Draws that add nothing to the coverage would otherwise
    // wait for ever, such as those without faults, which are about one in four.
    if (++x->taken % OLDEST_EVERY == 0)
        chosen = oldest_in_pool(x);
    *c = x->pool[chosen];
    x->pool_count--;
    for (size_t i = chosen; i < x->pool_count; i++)
        x->pool[i] = x->pool[i + 1];
    return true;
}
