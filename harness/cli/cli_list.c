// mailproof list: prints scenarios, subjects, the keys of scenarios, fault verbs and metrics, a
// line for each.
#include "cli/cli.h"
#include "options/subjects.h"

#include "options/locate.h"
#include "os/paths.h"
#include "scenario/grammar.h"
#include "scenario/scenario.h"
#include "scenario/metric.h"
#include "scenario/verbs.h"

static void print_tags(const struct scenario *s)
{
    for (char **t = s->tags; *t; t++)
        printf("%s%s", t == s->tags ? " [" : ", ", *t);
    if (*s->tags)
        fputc(']', stdout);
}

static void print_scenario(const struct scenario *s, bool first)
{
    printf("%s  %-30s %s", first ? "Scenarios:\n" : "", s->name, s->summary);
    print_tags(s);
    fputc('\n', stdout);
}

static bool list_scenarios(const char *tag, struct err *e)
{
    const struct overrides none = {0};
    struct paths paths FREED_BY(locate_fini) = {0};
    struct tag_search search;
    char dir[PATH_MAX];
    size_t count = 0;

    locate_tag_init(&search, tag);
    bool ok = path_share(dir, "scenarios", e) && locate_scenarios(&paths, dir, e);
    for (size_t i = 0; ok && i < paths.count; i++) {
        // Each scenario is loaded as for a run, so that one that cannot be run is an error here,
        // too.
        struct scenario s FREED_BY(scenario_fini) = {0};
        ok = scenario_load(&s, paths.items[i], &none, e);
        if (ok && locate_tagged(&search, &s))
            print_scenario(&s, count++ == 0);
    }
    return ok && (count > 0 || locate_no_tag(&search, e));
}

static void print_key(const char *path, const char *text)
{
    printf("  %-30s %s\n", path, text);
}

static void list_keys(void)
{
    puts("\nKeys of a scenario (N: a list's item, from 0 in --set; verbs say which they take):");
    keys_each(print_key);
}

static void print_params(const struct verb *v)
{
    const char *separator = "; takes ";

    for (size_t i = 0; i < fault_table.count; i++) {
        const struct field *f = &fault_table.fields[i];
        bool must = f->needed || (f->param == PARAM_FOR && (v->params & PARAM_NEEDS_FOR));
        if (!(v->params & f->param))
            continue;
        printf("%s%s%s", separator, f->key, must ? " (must be given)" : "");
        separator = ", ";
    }
}

static void list_verbs(void)
{
    puts("\nFault verbs (all take at, every and until):");
    for (size_t i = 0; i < VERB_COUNT; i++) {
        printf("  %-30s %s", verbs[i].name, verbs[i].help);
        print_params(&verbs[i]);
        fputc('\n', stdout);
    }
}

static void list_metrics(void)
{
    puts("\nMetrics (for expect; those marked * are invariants, which allow may relax):");
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        const char *unit = metric_unit_name(metrics[i].unit);
        const char *only = metric_subjects((enum metric_id)i);
        printf("  %-30s %s%s%s%s%s%s%s\n", metrics[i].name, metrics[i].invariant ? "* " : "",
            metrics[i].help, *unit ? " (" : "", unit, *unit ? ")" : "", *only ? "; only for " : "",
            only);
    }
}

int cli_list(const struct options *o)
{
    struct err e = {0};

    if (*o->args) {
        err_set(&e, ERR_USAGE, "list: takes no arguments, but got '%.100s'", *o->args);
        return cli_fail(&e);
    }
    if (!list_scenarios(o->tag, &e))
        return cli_fail(&e);
    // A tag is a question about scenarios only, so nothing else is printed.
    if (!o->tag) {
        if (!subjects_list(&e))
            return cli_fail(&e);
        list_keys();
        list_verbs();
        list_metrics();
    }
    return EXIT_OK;
}
