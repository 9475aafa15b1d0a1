#include "shrink/shrinking.h"

#include <math.h>

#include "options/options.h"
#include "compare/compare.h"
#include "ledger/history.h"
#include "os/paths.h"
#include "report/report.h"
#include "run/shared_server.h"
#include "scenario/trace.h"

#define FILE_MAX ((size_t)512 << 20)
// First estimate of the time that a run takes in addition to load and drain.
static const int64_t first_overhead_ns = 2 * NS_PER_S;

// --- the original run --------------------------------------------------------------------

// Chooses the invariant that a smaller scenario must break, too: the one that --breaks names,
// otherwise the most important one that the original run broke.
static bool choose_wanted(struct shrinking *h, struct err *e)
{
    const char *name = h->options->breaks;
    const bool only_invariants = true;
    const struct metric *m = name ? metric_named(name, only_invariants, e) : NULL;

    if (name && !m)
        return err_prefix(e, "--breaks");
    // One invariant is fixed here, because a smaller scenario that breaks only something else shows
    // another failure.
    h->wanted = compare_worst(&h->original);
    if (h->wanted == METRIC_COUNT)
        return err_set(e, ERR_USAGE,
            "shrink: the run in %.500s broke no invariant (%s); name one that did", h->folder,
            verdict_name(h->original.verdict));
    if (!name)
        return true;
    if (!h->original.broken[m->id])
        return err_set(e, ERR_USAGE, "--breaks: the run in %.500s did not break %s, but %s",
            h->folder, name, metrics[h->wanted].name);
    h->wanted = m->id;
    return true;
}

// Chooses the output file, and names the small scenario after this file.
static bool name_output(struct shrinking *h, struct err *e)
{
    const char *given = h->options->output;

    if (!given && !path_join(h->output, h->folder, "shrunk.yaml", e))
        return false;
    if (given && snprintf(h->output, sizeof h->output, "%s", given) >= (int)sizeof h->output)
        return err_set(e, ERR_USAGE, "--output: the path is too long");
    const char *name = path_name(h->output), *dot = strrchr(name, '.');
    size_t len = dot ? (size_t)(dot - name) : 0;
    if (!dot || strcmp(dot, ".yaml") != 0 || len == 0 || len > 64 ||
        strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != len || name[0] == '-')
        return err_set(e, ERR_USAGE,
            "--output: '%.100s' should be at most 64 small letters, digits and '-', followed by "
            ".yaml",
            name);
    // A file of this name would be taken for the scenario of a run, and its commands would be
    // refused without --trust, because no run has written it.
    if (strcmp(name, "scenario.yaml") == 0)
        return err_set(e, ERR_USAGE, "--output: a result folder keeps its own scenario.yaml");
    snprintf(h->name, sizeof h->name, "%.*s", (int)len, name);
    return true;
}

bool shrinking_init(struct shrinking *h, const struct options *o, struct err *e)
{
    int64_t began_ns = clock_now_ns(), within_ns = 0;

    h->options = o;
    h->folder = o->args[0];
    h->overhead_ns = first_overhead_ns; // a run that needs longer raises it
    h->sets = options_overrides(o);
    h->whole = (struct whole){&h->scenario, &h->plan};
    if (!h->folder || o->args[1])
        return err_set(e, ERR_USAGE, "shrink: name one result folder");
    struct oracle oracle = {shrinking_ask, h};
    if (!values_within(o, "5m", &within_ns, e) || !name_output(h, e) ||
        !files_dated_folder(h->out, sizeof h->out, o->out, "shrink", e) ||
        !stored_read(&h->original, h->folder, e) || !choose_wanted(h, e) ||
        !path_join(h->path, h->folder, "scenario.yaml", e) ||
        !scenario_load(&h->scenario, h->path, &h->sets, e) || !plan_make(&h->plan, &h->scenario, e))
        return false;
    h->deadline_ns = began_ns + within_ns;
    search_init(&h->search, &h->whole, &oracle);
    return true;
}

void shrinking_fini(struct shrinking *h)
{
    if (h->shared)
        shared_close(&h->server);
    search_fini(&h->search);
    free(h->failed);
    plan_fini(&h->plan);
    scenario_fini(&h->scenario);
}

// --- the small scenario -----------------------------------------------------------------

bool shrinking_scenario(
    struct scenario *s, const struct shrinking *h, const struct sketch *k, struct err *e)
{
    char summary[256];

    snprintf(summary, sizeof summary, "The rest of %.64s after shrinking.", h->scenario.name);
    if (!scenario_load(s, h->path, &h->sets, e))
        return false;
    sketch_apply(k, &h->whole, s);
    scenario_replace(&s->name, h->name);
    scenario_replace(&s->summary, summary);
    return true;
}

// Writes the recorded arrivals of a phase to a file beside the output, and names this file in the
// phase.
static bool write_trace(const struct shrinking *h, struct load_phase *p, struct err *e)
{
    char name[160], path[PATH_MAX];
    struct buf times FREED_BY(buf_fini) = BUF_INIT(FILE_MAX);

    snprintf(name, sizeof name, "%s-%s", h->name, p->file);
    if (!path_beside(path, h->output, name))
        return err_set(e, ERR_USAGE, "--output: the path is too long");
    scenario_replace(&p->file, name);
    return trace_write(p, &times) && file_write("output", path, &times, e);
}

// Writes the small scenario, and reads it again to be sure that it can be run.
static bool write_small_scenario(const struct shrinking *h, const struct scenario *s, struct err *e)
{
    struct scenario again FREED_BY(scenario_fini) = {0};
    struct buf yaml FREED_BY(buf_fini) = BUF_INIT(FILE_MAX);

    return scenario_write(s, &yaml, e) && file_write("output", h->output, &yaml, e) &&
           scenario_load(&again, h->output, &(struct overrides){0}, e);
}

bool shrinking_write(struct shrinking *h, struct err *e)
{
    struct scenario s FREED_BY(scenario_fini) = {0};

    if (!shrinking_scenario(&s, h, search_best(&h->search), e))
        return false;
    for (size_t i = 0; i < s.load_count; i++) {
        if (s.load[i].file && !write_trace(h, &s.load[i], e))
            return false;
    }
    return write_small_scenario(h, &s, e);
}

// --- printing ---------------------------------------------------------------------------

// Returns the seconds from the start of a run's load to the end of its drain; NAN when they are not
// known.
static double run_seconds(const char *folder)
{
    char scenario[PATH_MAX], path[PATH_MAX];
    struct overrides none = {0};
    struct history history FREED_BY(history_fini) = {0};
    struct scenario s FREED_BY(scenario_fini) = {0};
    double seconds = NAN;
    struct err e;

    if (path_join(scenario, folder, "scenario.yaml", &e) &&
        path_join(path, folder, HISTORY_NAME, &e) && scenario_load(&s, scenario, &none, &e) &&
        history_read(&history, path, &s, &e))
        seconds = ledger_seconds(&history.ledger, history.ledger.drain_end_ns);
    return seconds;
}

static void print_seconds(const char *what, double before, double after)
{
    char left[32] = "?", right[32] = "?";

    if (!isnan(before))
        snprintf(left, sizeof left, "%.2f s", before);
    if (!isnan(after))
        snprintf(right, sizeof right, "%.2f s", after);
    printf("  %-20s %10s %10s\n", what, left, right);
}

static void print_broken(const struct shrinking *h, const struct stored *after)
{
    for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
        if (h->original.broken[id] || after->broken[id])
            printf("  %-20s %10.0f %10.0f\n", metrics[id].name, h->original.values[id],
                after->values[id]);
    }
}

static void print_confirmation(const struct shrinking *h, const struct confirmation *c)
{
    if (c->asked)
        // Say how often it fails, which matters more than how small it is, because users want to
        // see it fail.
        printf("the small scenario fails in %d of %d %s", c->failed, c->asked,
            NOUN(c->asked, "run", "runs"));
    else
        printf("the small scenario failed once, and there was no time to see how often it does");
    printf("; %d %s in all, in %s\n", h->runs, NOUN(h->runs, "run", "runs"), h->out);
}

// Prints the command that repeats the small scenario, with --repeat if not every run fails.
static void tell_repeat(const struct shrinking *h, const struct confirmation *c)
{
    struct buf command FREED_BY(buf_fini) = BUF_INIT((size_t)4 * PATH_MAX);

    bool ok = report_repeat_of(h->output, &h->scenario, h->options->collector, &command);
    if (c->failed < c->asked)
        buf_append_str(&command, " --repeat 5");
    if (ok && buf_str(&command))
        printf("  repeat      %s\n", command.data);
}

bool shrinking_tell(struct shrinking *h, const struct confirmation *c, struct err *e)
{
    const struct sketch *best = search_best(&h->search);
    const struct failed_run *after = h->failed;
    struct scenario s FREED_BY(scenario_fini) = {0};
    struct plan plan FREED_BY(plan_fini) = {0};

    if (!shrinking_scenario(&s, h, best, e) || !plan_make(&plan, &s, e))
        return false;
    // The best sketch is smaller than the whole here, so it has failed and is found in `failed`.
    while (after->hash != sketch_hash(best, &h->whole))
        after++;
    printf("%s, shrunk\n  %-20s %10s %10s\n", h->scenario.name, "", "before", "after");
    print_seconds("load", (double)scenario_load_ns(&h->scenario) / NS_PER_S,
        (double)scenario_load_ns(&s) / NS_PER_S);
    printf("  %-20s %10zu %10zu\n", "tokens planned", h->plan.token_count, plan.token_count);
    printf("  %-20s %10zu %10zu\n", "faults", h->plan.fault_count, plan.fault_count);
    print_seconds("load and drain took", run_seconds(h->folder), run_seconds(after->folder));
    print_broken(h, &after->stored);
    print_confirmation(h, c);
    tell_repeat(h, c);
    return true;
}
