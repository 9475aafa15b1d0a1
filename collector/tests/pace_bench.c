// Prints what `ci/bench adaptive` shows: the adaptive window beside the best fixed pair, as tables.
// With N it prints the arrivals of the N-th load, for mailproof tune --model. With `N row` it
// prints this load's row of the first table.
#include "base/base.h"
#include "pace_sim.h"

#define DRAWN 200
#define WITHIN 0.95

static void row(const struct pace_load *l, const struct pace_figures *f)
{
    char name[80];

    printf("| %s | %d | %.1f | %.2f | %d, %.0f ms | %.2f | %.2f |\n",
        pace_load_name(l, name, sizeof name), l->limit, f->p99_ms, f->batch, f->best_limit,
        f->best_ms, f->best, f->share);
    fflush(stdout);
}

static void head(void)
{
    puts("| load | limit | p99, ms | mean batch | best fixed pair | its mean batch | share |\n"
         "|---|---|---|---|---|---|---|");
}

static int draw(enum pace_kind kind)
{
    int below = 0;

    for (uint64_t seed = 1; seed <= DRAWN; seed++) {
        struct pace_load l = pace_draw(kind, seed);
        struct pace_figures f = pace_compare(&l);
        if (f.share >= WITHIN)
            continue;
        row(&l, &f);
        below++;
    }
    return below;
}

int main(int argc, char **argv)
{
    int below[PACE_KINDS];
    long chosen = argc > 1 ? strtol(argv[1], NULL, 10) : 1;

    if (chosen < 1 || chosen > pace_load_count) {
        fprintf(stderr, "the loads are 1 to %d\n", pace_load_count);
        return 64;
    }
    if (argc > 2) {
        struct pace_figures f = pace_compare(&pace_loads[chosen - 1]);
        row(&pace_loads[chosen - 1], &f);
        return 0;
    }
    if (argc > 1) {
        pace_print_trace(&pace_loads[chosen - 1]);
        return 0;
    }
    head();
    for (int i = 0; i < pace_load_count; i++) {
        struct pace_figures f = pace_compare(&pace_loads[i]);
        row(&pace_loads[i], &f);
    }
    printf(
        "\n%d loads of each kind were drawn at random. These are below %.2f:\n\n", DRAWN, WITHIN);
    head();
    for (int kind = 0; kind < PACE_KINDS; kind++)
        below[kind] = draw((enum pace_kind)kind);
    printf("\nSteady: %d below. Bursts: %d. Bursts in a trickle: %d.\n", below[PACE_STEADY],
        below[PACE_BURSTS], below[PACE_BURSTS_IN_A_TRICKLE]);
}
