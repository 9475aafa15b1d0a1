// mailproof shrink RESULT: looks for a shorter scenario that still breaks what a stored run broke.
#include "cli/cli.h"
#include "shrink/shrinking.h"
#include "os/interrupt.h"
#include "run/shared_server.h"
#include "run/runner.h"

// How often the smallest scenario is run again at the end, because its failure may depend on
// chance.
#define CONFIRMATIONS 3
#define LOOKS_MAX 3 // how often a candidate is run at most while its runs are inconclusive

// --- is there time for a run? -----------------------------------------------------------

// Estimates how long a run of the candidate takes at most: its load, faults and drain, and the
// longest overhead of a run so far.
static int64_t cost_ns(const struct shrinking *h, const struct sketch *k)
{
    int64_t end_ns = sketch_load_ns(k, &h->whole);

    for (size_t i = 0; i < h->plan.fault_count; i++) {
        int64_t at_ns = k->faults[i] ? sketch_fault_ns(k, &h->whole, i) : 0;
        int64_t fault_end_ns = at_ns + h->plan.faults[i].end_ns - h->plan.faults[i].at_ns;
        if (k->faults[i])
            end_ns = clock_max(end_ns, fault_end_ns);
    }
    return end_ns + sketch_drain_ns(&h->scenario) + h->overhead_ns;
}

// True when there is time for this run, and after it for confirming the smallest scenario so far.
static bool time_is_left(const struct shrinking *h, const struct sketch *k)
{
    // kept[0] is the whole scenario. While there is nothing smaller, this run's own candidate (k)
    // would be the one to confirm.
    const struct sketch *best = h->search.kept_count > 1 ? search_best(&h->search) : k;
    int64_t after_ns = h->confirming ? 0 : CONFIRMATIONS * cost_ns(h, best);

    return clock_now_ns() + cost_ns(h, k) + after_ns <= h->deadline_ns;
}

// --- one run ----------------------------------------------------------------------------

// A candidate fails if it breaks the wanted invariant, whatever else it breaks or no longer breaks.
static enum answer judge_candidate(const struct shrinking *h, const struct stored *run)
{
    return run->broken[h->wanted] ? ANSWER_FAILS : ANSWER_PASSES;
}

static void tell_candidate(const struct shrinking *h, const struct scenario *s, size_t tokens,
    const struct sketch *k, const struct stored *run)
{
    size_t faults = sketch_fault_count(k, &h->whole);

    if (h->options->quiet)
        return;
    printf("  %s %d: load %.2f s, %zu %s, %zu %s: %s", h->confirming ? "again" : "run", h->runs,
        (double)scenario_load_ns(s) / NS_PER_S, tokens, NOUN(tokens, "token", "tokens"), faults,
        NOUN(faults, "fault", "faults"), verdict_name(run->verdict));
    for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
        if (run->broken[id])
            printf(", %s %.0f", metrics[id].name, run->values[id]);
    }
    puts(judge_candidate(h, run) == ANSWER_PASSES || h->confirming ? "" : " (kept)");
    fflush(stdout);
}

// Stores the result of a candidate that failed, in place of an earlier run of the same candidate.
static void keep_failed_run(
    struct shrinking *h, const struct sketch *k, const struct stored *run, const char *folder)
{
    uint64_t hash = sketch_hash(k, &h->whole);
    size_t i = 0;

    while (i < h->failed_count && h->failed[i].hash != hash)
        i++;
    if (i == h->failed_count) {
        memory_grow(&h->failed, h->failed_count, 1, sizeof *h->failed);
        h->failed_count++;
    }
    h->failed[i] = (struct failed_run){.hash = hash, .stored = *run};
    snprintf(h->failed[i].folder, sizeof h->failed[i].folder, "%s", folder);
}

static void stop_sharing(struct shrinking *h)
{
    if (h->shared)
        shared_close(&h->server);
    h->shared = false;
}

// Runs a scenario once. Returns false when there is no verdict: h->err or an interrupt says why.
static bool run_candidate(struct shrinking *h, const struct scenario *s, size_t tokens,
    const struct sketch *k, struct stored *run)
{
    struct run_options how = {.collector = h->options->collector,
        .postgres = h->options->conninfo,
        .out = h->out,
        .quiet = true,
        .silent = true,
        .server = h->shared ? &h->server : NULL};
    struct run_outcome outcome;
    int64_t began_ns = clock_now_ns();
    struct err e = {0};

    if (!run_scenario(s, &how, &outcome, &e) || !stored_read(run, outcome.folder, &e) ||
        interrupt_signal()) {
        stop_sharing(h); // the server's state is unknown, so the next runs get servers of their own
        h->err = e;
        return false;
    }
    err_clear(&h->err);
    // The overhead is what the run took beyond its load, faults and drain.
    int64_t overhead_ns = clock_now_ns() - began_ns - (cost_ns(h, k) - h->overhead_ns);
    h->overhead_ns = clock_max(h->overhead_ns, overhead_ns);
    h->runs++;
    tell_candidate(h, s, tokens, k, run);
    if (judge_candidate(h, run) != ANSWER_PASSES)
        keep_failed_run(h, k, run, outcome.folder);
    return true;
}

// Runs a candidate, up to LOOKS_MAX times while the run is inconclusive or cannot be made, because
// that may come from a busy machine and not from the candidate. ANSWER_STOP ends the search: there
// is no time left, it was interrupted, or the last run could not be made.
static enum answer look_at_sketch(
    struct shrinking *h, const struct scenario *s, size_t tokens, const struct sketch *k)
{
    struct stored run;

    for (int i = 0; i < LOOKS_MAX; i++) {
        if (interrupt_signal() || !time_is_left(h, k))
            break;
        bool ran = run_candidate(h, s, tokens, k, &run);
        if (ran && (run.verdict != VERDICT_INCONCLUSIVE || i + 1 == LOOKS_MAX))
            return judge_candidate(h, &run);
        // Such an error would come again with every run.
        if (!ran && (h->err.kind == ERR_SKIP || h->err.kind == ERR_USAGE))
            break;
    }
    return ANSWER_STOP;
}

enum answer shrinking_ask(void *context, const struct sketch *k)
{
    struct shrinking *h = context;
    enum answer answer = ANSWER_STOP;
    struct scenario s;
    struct plan plan FREED_BY(plan_fini) = {0};
    struct err impossible;

    if (!shrinking_scenario(&s, h, k, &h->err))
        return ANSWER_STOP;
    // A run without a token judges nothing, so such a scenario is no candidate.
    if (plan_make(&plan, &s, &impossible) && plan.token_count > 0)
        answer = look_at_sketch(h, &s, plan.token_count, k);
    else
        answer = ANSWER_IMPOSSIBLE;
    scenario_fini(&s);
    return answer;
}

// --- the whole command ------------------------------------------------------------------

// Writes and prints the smallest scenario, or prints that there is none. Returns the exit code of
// the command, which is that of an inconclusive run if there is none.
static int end_search(struct shrinking *h, const struct confirmation *c, struct err *e)
{
    // kept[0] is the whole scenario, so more than one element means that something smaller failed.
    if (h->search.kept_count > 1 && (!shrinking_write(h, e) || !shrinking_tell(h, c, e)))
        return cli_fail(e);
    if (h->err.kind != ERR_NONE && h->err.kind != ERR_INTERRUPTED)
        return cli_fail(&h->err);
    if (h->search.kept_count == 1) {
        bool out_of_time = h->search.stopped && !interrupt_signal();
        const char *hint = h->runs > 0
                               ? "; more time may help: --within"
                               : ": --within leaves no time for a first one, and to confirm it";
        printf("in %d %s nothing smaller was found that breaks the same invariant%s\n", h->runs,
            NOUN(h->runs, "run", "runs"), out_of_time ? hint : "");
    }
    if (interrupt_signal())
        return EXIT_SIGNAL + interrupt_signal();
    return h->search.kept_count > 1 ? EXIT_OK : verdict_exit_code(VERDICT_INCONCLUSIVE);
}

// Searches on one shared server, because starting a server would take most of a short run. In the
// confirmation at the end each run has a server of its own, as a user's run has. Returns false only
// when the shared server cannot be started.
static bool search_sketches(struct shrinking *h, struct confirmation *c, struct err *e)
{
    h->shared = shared_fits(&h->scenario);
    if (h->shared && !shared_open(&h->server, &h->scenario, h->options->conninfo, e))
        return false;
    search_run(&h->search);
    stop_sharing(h);
    h->confirming = true;
    *c = search_confirm(&h->search, CONFIRMATIONS);
    return true;
}

int cli_shrink(const struct options *o)
{
    struct shrinking *h FREED_BY(memory_free) = memory_zeroed(1, sizeof *h);
    struct confirmation c = {0};
    struct err e = {0};

    bool ok = shrinking_init(h, o, &e) && search_sketches(h, &c, &e);
    int code = ok ? end_search(h, &c, &e) : cli_fail(&e);
    shrinking_fini(h);
    return code;
}
