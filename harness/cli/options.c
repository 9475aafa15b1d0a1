#include "cli/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// What JSON's numbers carry without loss, as in a scenario file.
#define SEED_MAX ((1ull << 53) - 1)

enum {
    SCOPE_SCENARIO = SCOPE_RUN | SCOPE_PLAN,
    SCOPE_EVERY = SCOPE_RUN | SCOPE_PLAN | SCOPE_LIST,
};

// getopt's values: letters that no option uses, in the order of the table.
enum option_id {
    OPT_COLLECTOR = 256,
    OPT_POSTGRES,
    OPT_SEED,
    OPT_SET,
    OPT_OUT,
    OPT_JUNIT,
    OPT_TAG,
    OPT_REPEAT,
    OPT_FAIL_FAST,
    OPT_KEEP,
    OPT_QUIET,
    OPT_EVERY_CUT,
    OPT_JSON,
    OPT_HELP,
};

static const struct {
    const char *name;
    const char *argument; // NULL: takes none
    enum option_id id;
    unsigned scope;
    const char *help;
} table[] = {
    {"collector", "CMD", OPT_COLLECTOR, SCOPE_RUN,
        "the collector to test (default: the reference)"},
    {"postgres", "local", OPT_POSTGRES, SCOPE_RUN, "where the server comes from (default: local)"},
    {"seed", "N", OPT_SEED, SCOPE_SCENARIO, "another seed, hence another plan of the same kind"},
    {"set", "KEY.PATH=VALUE", OPT_SET, SCOPE_SCENARIO,
        "change the scenario; list items by number: load.0.for=1s"},
    {"out", "DIR", OPT_OUT, SCOPE_RUN, "where result folders go (default: results)"},
    {"junit", "FILE", OPT_JUNIT, SCOPE_RUN, "write the results of all runs as JUnit XML"},
    {"tag", "TAG", OPT_TAG, SCOPE_RUN | SCOPE_LIST, "only scenarios that carry this tag"},
    {"repeat", "N", OPT_REPEAT, SCOPE_RUN, "run each scenario N times"},
    {"fail-fast", NULL, OPT_FAIL_FAST, SCOPE_RUN, "stop at the first scenario that does not pass"},
    {"keep", NULL, OPT_KEEP, SCOPE_RUN,
        "leave server and data, print how to reach and remove them"},
    {"every-cut", NULL, OPT_EVERY_CUT, SCOPE_RUN,
        "cut the connection at every message there is, one after another"},
    {"quiet", NULL, OPT_QUIET, SCOPE_RUN, "no progress"},
    {"json", NULL, OPT_JSON, SCOPE_PLAN, "print JSON"},
    {"help", NULL, OPT_HELP, SCOPE_EVERY, "print this"},
};

#define OPTIONS (sizeof table / sizeof *table)

static const char *name_of(int id)
{
    for (size_t i = 0; i < OPTIONS; i++) {
        if ((int)table[i].id == id)
            return table[i].name;
    }
    return "?";
}

static bool parse_number(const char *name, const char *text, unsigned long long min,
    unsigned long long max, unsigned long long *value, struct err *e)
{
    char *end;

    errno = 0;
    *value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno || *value < min || *value > max)
        return err_set(e, ERR_USAGE, "--%s takes a whole number from %llu to %llu, not '%.40s'",
            name, min, max, text);
    return true;
}

static bool take(struct options *o, int id, const char *value, struct err *e)
{
    unsigned long long number;

    switch (id) {
    case OPT_COLLECTOR:
        o->collector = value;
        return true;
    case OPT_POSTGRES:
        return strcmp(value, "local") == 0 ||
               err_set(e, ERR_USAGE,
                   "--postgres: this version starts its own server only: local, not '%.20s'",
                   value);
    case OPT_SEED:
        if (!parse_number("seed", value, 0, SEED_MAX, &number, e))
            return false;
        snprintf(o->seed, sizeof o->seed, "seed=%llu", number);
        return true;
    case OPT_SET:
        o->sets[o->set_count++] = value;
        return true;
    case OPT_OUT:
        o->out = value;
        return true;
    case OPT_JUNIT:
        o->junit = value;
        return true;
    case OPT_TAG:
        o->tag = value;
        return true;
    case OPT_REPEAT:
        if (!parse_number("repeat", value, 1, 10000, &number, e))
            return false;
        o->repeat = (int)number;
        return true;
    case OPT_FAIL_FAST:
        o->fail_fast = true;
        return true;
    case OPT_KEEP:
        o->keep = true;
        return true;
    case OPT_EVERY_CUT:
        o->every_cut = true;
        return true;
    case OPT_QUIET:
        o->quiet = true;
        return true;
    case OPT_JSON:
        o->json = true;
        return true;
    default:
        o->help = true;
        return true;
    }
}

static void fill_long_options(struct option *longs, unsigned scope)
{
    size_t n = 0;

    for (size_t i = 0; i < OPTIONS; i++) {
        if (table[i].scope & scope)
            longs[n++] = (struct option){table[i].name,
                table[i].argument ? required_argument : no_argument, NULL, (int)table[i].id};
    }
    longs[n] = (struct option){0};
}

bool options_parse(struct options *o, enum option_scope scope, int argc, char **argv, struct err *e)
{
    struct option longs[OPTIONS + 1];
    int id;

    *o = (struct options){.out = "results", .repeat = 1};
    // One more than needed: the seed is put behind the sets.
    o->sets = calloc((size_t)argc + 1, sizeof *o->sets);
    if (!o->sets)
        return err_set(e, ERR_INTERNAL, "out of memory");
    fill_long_options(longs, scope);
    opterr = 0;
    optind = 1;
    while ((id = getopt_long(argc, argv, ":hq", longs, NULL)) != -1) {
        if (id == 'h')
            id = OPT_HELP;
        else if (id == 'q' && (scope & SCOPE_RUN))
            id = OPT_QUIET;
        const char *word = argv[optind - 1];
        if (id == ':')
            return err_set(e, ERR_USAGE, "option '--%s' needs a value", name_of(optopt));
        if (id == '?' || id == 'q')
            return err_set(e, ERR_USAGE,
                "unknown or ambiguous option '%s'; see mailproof %s --help", word, argv[0]);
        if (!take(o, id, optarg, e))
            return false;
    }
    o->args = argv + optind;
    return true;
}

void options_fini(struct options *o)
{
    free(o->sets);
    *o = (struct options){0};
}

void options_print_help(enum option_scope scope)
{
    puts("\nOptions:");
    for (size_t i = 0; i < OPTIONS; i++) {
        char left[40];
        if (!(table[i].scope & scope))
            continue;
        snprintf(left, sizeof left, "--%s%s%s", table[i].name, table[i].argument ? " " : "",
            table[i].argument ? table[i].argument : "");
        printf("  %-24s %s\n", left, table[i].help);
    }
}

struct overrides options_overrides(const struct options *o)
{
    struct overrides sets = {.items = o->sets, .count = o->set_count};

    if (o->seed[0])
        o->sets[sets.count++] = o->seed;
    return sets;
}
