// mailproof explore [SCENARIO...]: draws scenarios, runs them, and investigates what breaks.
//
// One loop (search_draws) keeps a pool of worker processes busy, each of which keeps a server
// running. An idle worker gets a suspect first (a draw that broke something and is run again),
// because what broke once may break again. Otherwise it gets by turns the draw that adds most to
// the coverage and the oldest. A shrink is a process of its own and takes the place of a worker.
//
// The results are not kept here but in the journal, and the failures follow from the journal's
// lines alone. So a search can be stopped at any moment, continued later, and shared by several
// machines.
#include <jansson.h>
#include <libgen.h>
#include <math.h>

#include "cli/cli.h"
#include "explore/exploring.h"
#include "options/options.h"
#include "explore/search_page.h"
#include "os/interrupt.h"
#include "os/paths.h"
#include "base/utf8.h"
#include "os/workdir.h"
#include "report/files/parse_json.h"
#include "report/forecast.h"
#include "report/suite.h"
#include "report/terminal.h"

#define PAGE_MAX_BYTES (4u << 20)
#define UNJUDGED_MAX 10 // a call ends after this many draws if none of them could be judged

static const int64_t tick_ns = 200 * NS_PER_MS;
static const int64_t plain_every_ns = 5 * NS_PER_S;

// --- printing ---------------------------------------------------------------------------

static void clock_text(char out[32], double seconds)
{
    snprintf(out, 32, "%d:%02d", (int)(seconds / 60), (int)seconds % 60);
}

// Returns how many of the draws that --draws or --only asks for are this machine's; 0 without them.
static int64_t count_asked_draws(const struct exploring *x)
{
    const struct shard *shard = &x->options->shard;
    int64_t draws = x->options->explore.draws, listed = 0;

    for (size_t i = 0; i < x->number_count; i++)
        listed += record_wants(&x->journal.record, x->numbers[i]);
    if (x->number_count > 0)
        return listed;
    return shard->of > 0 ? (draws + shard->of - shard->number) / shard->of : draws;
}

// Shows how far the search is: on a terminal in one line, otherwise in a new line now and then.
static void show_search(struct exploring *x)
{
    const struct journal *j = &x->journal;
    bool terminal = terminal_is(STDERR_FILENO);
    int64_t now = clock_now_ns();
    char spent[32], whole[32], progress[100];

    if (x->options->quiet || (!terminal && now - x->shown_ns < plain_every_ns))
        return;
    x->shown_ns = now;
    // All bases allow the same verbs, so the first one's limits stand for all.
    struct coverage_share states = coverage_states(&j->coverage, &x->limits[0]);
    struct coverage_share pairs = coverage_pairs(&j->coverage, &x->limits[0]);
    clock_text(spent, (double)(now - x->began_ns) / NS_PER_S);
    // A number of draws ends the search, or else the time: "1:05  57 of 200 draws", or "1:05 of
    // 10:00  57 draws". Draws that --only lists are made again, so only those of this call count.
    if (x->options->explore.draws || x->number_count > 0) {
        snprintf(progress, sizeof progress, "%s  %zu of %" PRId64, spent,
            x->number_count > 0 ? x->judged + x->unjudged : j->tried, count_asked_draws(x));
    } else {
        clock_text(whole, (double)(x->deadline_ns - x->began_ns) / NS_PER_S);
        snprintf(progress, sizeof progress, "%s of %s  %zu", spent, whole, j->tried);
    }
    fprintf(stderr,
        "%sexplore: %s draws, %zu inconclusive, %zu found, %zu looked into  "
        "states %zu/%zu  overlaps %zu/%zu%s",
        terminal ? "\r" : "", progress, j->verdicts[VERDICT_INCONCLUSIVE] + j->unjudged,
        j->failure_count, suspects_open(x), states.seen, states.of, pairs.seen, pairs.of,
        terminal ? "\x1b[K" : "\n");
    fflush(stderr);
}

// Writes the page about the search, and prints a short form of it.
static bool write_explore_page(struct exploring *x, struct err *e)
{
    const struct page page = {.journal = &x->journal,
        .seed = x->seed,
        .collector = x->collector,
        .limits = &x->limits[0],
        .dir = x->dir,
        .conninfo = x->options->conninfo != NULL};
    struct buf html FREED_BY(buf_fini) = BUF_INIT(PAGE_MAX_BYTES);
    struct buf text FREED_BY(buf_fini) = BUF_INIT(PAGE_MAX_BYTES);
    char path[1000];

    bool ok = journal_sort(&x->journal, e) && exploring_path(x, path, "explore.html", "", e) &&
              (page_html(&page, &html) || err_set(e, ERR_INTERNAL, "the page is too long")) &&
              file_write("out", path, &html, e) &&
              (page_text(&page, &text) || err_set(e, ERR_INTERNAL, "the text is too long"));
    // The progress line must not stand in the middle of the text.
    if (!x->options->quiet && terminal_is(STDERR_FILENO))
        fputs("\r\x1b[K", stderr);
    if (ok)
        printf("explore: seed %llu, %s\n%s  results     %s\n", (unsigned long long)x->seed,
            page_collector(&page), text.data, path);
    return ok;
}

// --- one run ----------------------------------------------------------------------------

// Returns the suspect to which the run of draw `number` belongs; NULL: it was the draw's first run.
static struct suspect *suspect_of(struct exploring *x, uint64_t number)
{
    for (size_t i = 0; i < x->suspect_count; i++) {
        struct suspect *s = &x->suspects[i];
        // A suspect is a draw that is run again, and its runs have the number of the draw.
        if (s->running > 0 && s->tried.number == number)
            return s;
    }
    return NULL;
}

// Writes the first example of a broken invariant in a result, with the invariant's name, into
// `out`; "" without one.
static void take_example(const json_t *result, char *out, size_t size)
{
    const char *name;
    json_t *list;

    *out = '\0';
    json_object_foreach(json_object_get(result, "examples"), name, list)
    {
        const char *text = json_string_value(json_array_get(list, 0));
        // 40 bytes are left for the invariant's name.
        if (!*out && text)
            snprintf(out, size, "%s: %.*s", name, (int)size - 40, text);
    }
    utf8_mend(out);
}

// Returns the number of the worker that has been running the draw until now.
static int worker_of_draw(const struct exploring *x, uint64_t number)
{
    int i = 0;

    while (x->running[i].number != number || x->run_began_ns[i] == 0) {
        i++;
        assert(i < x->jobs);
    }
    return i;
}

// Removes a run's folder, and the scenario's folder when it is empty.
static void remove_run(const char *folder)
{
    char latest[PATH_MAX];

    workdir_remove_tree(folder);
    if (!path_beside(latest, folder, "latest"))
        return;
    // While the link `latest` exists, the scenario's folder is not empty.
    unlink(latest);
    rmdir(dirname(latest));
}

// True when the draw broke one of the invariants that the user looks for (x->wanted).
static bool is_wanted(const struct exploring *x, const struct tried *t)
{
    bool broke_wanted = false;

    for (enum metric_id id = 0; id < METRIC_COUNT; id++)
        broke_wanted = broke_wanted || (t->broken[id] && x->wanted[id]);
    return t->judged && t->verdict == VERDICT_VIOLATED && broke_wanted;
}

// Counts the first run of a draw, and adds it to the journal. A draw that broke a wanted invariant
// becomes a suspect, unless a known failure explains it or there are too many suspects.
static bool take_draw(struct exploring *x, struct tried *t, const struct run_pool_answer *a,
    const char *example, struct err *e)
{
    char name[40], path[1000];

    x->judged += t->judged;
    x->unjudged += !t->judged;
    if (!t->judged)
        snprintf(x->why_unjudged, sizeof x->why_unjudged, "%s", t->why);
    snprintf(name, sizeof name, "draw-%llu.yaml", (unsigned long long)a->number);
    if (!exploring_path(x, path, "draws", name, e) || !journal_add(&x->journal, t, e))
        return false;
    // Only a draw that is investigated keeps its results: thousands of passed runs would fill the
    // disk.
    if (is_wanted(x, t) && suspects_add(x, t, path, a->folder, example))
        return true;
    if (*a->folder)
        remove_run(a->folder);
    unlink(path);
    return true;
}

// Takes a worker's answer, for the first run of a draw or for another run of a suspect.
static bool take_draw_answer(struct exploring *x, const struct run_pool_answer *a, struct err *e)
{
    const int worker = worker_of_draw(x, a->number);
    struct tried t = x->running[worker];
    struct suspect *s = suspect_of(x, a->number);
    char example[256] = "";
    json_t *result FREED_BY(json_decrefp) =
        a->kind == ERR_NONE ? parse_file(a->folder, "result.json", e) : NULL;

    t.took_s = (double)(clock_now_ns() - x->run_began_ns[worker]) / NS_PER_S;
    x->run_began_ns[worker] = 0; // the worker is idle again
    // An interrupted draw counts as not made, so that a later call makes it.
    if (a->kind == ERR_INTERRUPTED)
        return true;
    t.judged = result && tried_take(&t, result, e);
    if (!t.judged)
        tried_why(&t, a->kind == ERR_NONE ? e->text : a->why);
    err_clear(e); // a draw that was not judged is no error of the search
    take_example(result, example, sizeof example);
    // Without a suspect this was a draw's first run. The run of a suspect adds nothing to the
    // coverage; it only tells whether the failure comes again.
    if (!s)
        return take_draw(x, &t, a, example, e);
    if (*a->folder)
        remove_run(a->folder);
    return suspects_answer(x, s, t.judged ? &t : NULL, e);
}

// --- what to do next ----------------------------------------------------------------------

// Gives a draw to a worker. `t` must have the draw's number, mode and verbs.
static bool give_draw(
    struct exploring *x, int worker, const struct tried *t, const char *path, struct err *e)
{
    // A proxied draw has a proxy that counts round trips, even if no fault needs one.
    struct run_pool_job job = {
        .number = t->number, .count_trips = draw_proxied(x->seed, t->number)};

    snprintf(job.path, sizeof job.path, "%s", path);
    x->running[worker] = *t;
    x->run_began_ns[worker] = clock_now_ns();
    return run_pool_give(&x->runners, worker, &job, e);
}

static bool has_confirmed_failure(const struct exploring *x)
{
    for (size_t i = 0; i < x->journal.failure_count; i++) {
        if (x->journal.failures[i].confirmed > 0)
            return true;
    }
    return false;
}

static bool may_draw(const struct exploring *x)
{
    return clock_now_ns() < x->deadline_ns && !interrupt_signal() &&
           !(x->options->fail_fast && has_confirmed_failure(x));
}

// Gives a worker the next draw. *given: false when no draw is left.
static bool give_next_draw(struct exploring *x, int worker, bool *given, struct err *e)
{
    struct candidate c;

    err_clear(e);
    *given = may_draw(x) && exploring_next(x, &c, e);
    if (!*given)
        return e->kind == ERR_NONE;
    struct tried t = {.number = c.number, .mode = mode_of(&c.scenario)};
    verbs_of(&c.scenario, t.verbs);
    bool ok = give_draw(x, worker, &t, c.path, e);
    candidate_fini(&c);
    return ok;
}

// Gives each idle worker a run, until `places` workers are busy. *more: false when no run was left,
// or no worker, as when one has died and no other could be started.
static bool fill_places(struct exploring *x, int places, bool *more, struct err *e)
{
    bool ok = true;

    *more = true;
    while (ok && *more && run_pool_busy(&x->runners) < places) {
        int worker = run_pool_idle(&x->runners);
        struct suspect *s = worker >= 0 ? suspects_begin_further_run(x) : NULL;
        *more = s != NULL;
        if (s)
            ok = give_draw(x, worker, &s->tried, s->path, e);
        else if (worker >= 0)
            ok = give_next_draw(x, worker, more, e);
    }
    return ok;
}

// True, with the reason in e, when this call has made at least UNJUDGED_MAX draws and none could be
// judged. Draws of an earlier call do not count: what was wrong may be corrected by now.
static bool no_draw_works(const struct exploring *x, struct err *e)
{
    // A draw may fail to run by bad luck, but if all of them fail, something is wrong with the
    // machine or the collector.
    if (x->unjudged < UNJUDGED_MAX || x->judged > 0)
        return false;
    err_set(e, ERR_SYSTEM, "no draw can be run here: %s", x->why_unjudged);
    return true;
}

// True, with the reason in e, when no worker is left for a run that is still to be made.
static bool lacks_workers(const struct exploring *x, struct err *e)
{
    bool draws_left = may_draw(x) && !exploring_done(x);

    return (suspects_open(x) > 0 || draws_left) && run_pool_lost(&x->runners, e);
}

// Makes draws and investigates suspects until nothing is left, or a signal or --fail-fast ends the
// search. Returns false on an error.
static bool search_draws(struct exploring *x, struct err *e)
{
    int shrinking = 0;
    bool more;

    for (;;) {
        struct run_pool_answer answer;
        if (interrupt_signal())
            return true;
        if (!suspects_shrink(x, x->jobs, &shrinking, e) ||
            !fill_places(x, x->jobs - shrinking, &more, e) || no_draw_works(x, e))
            return false;
        show_search(x);
        // With --fail-fast no failure is shrunk, so there is nothing to wait for.
        if (x->options->fail_fast && has_confirmed_failure(x))
            return true;
        // Shrinking needs no worker, so its end is awaited before the lack of workers is an error.
        if (shrinking == 0 && lacks_workers(x, e))
            return false;
        // The search is over when no worker runs, nothing is being shrunk, no suspect is open and
        // no draw is left.
        if (run_pool_busy(&x->runners) == 0 && shrinking == 0 && suspects_open(x) == 0 && !more)
            return true;
        if (run_pool_answer(&x->runners, clock_now_ns() + tick_ns, &answer) &&
            !take_draw_answer(x, &answer, e))
            return false;
    }
}

// --- the whole command --------------------------------------------------------------------

static int explore_exit_code(const struct exploring *x)
{
    if (has_confirmed_failure(x))
        return verdict_exit_code(VERDICT_VIOLATED);
    if (interrupt_signal())
        return EXIT_SIGNAL + interrupt_signal();
    // A shard may have no draws to make.
    if (x->journal.tried == 0 && exploring_done(x))
        return EXIT_OK;
    // A failure that did not come again proves nothing, and neither does a search in which nothing
    // passed.
    return x->journal.failure_count > 0 || x->journal.verdicts[VERDICT_PASS] == 0
               ? verdict_exit_code(VERDICT_INCONCLUSIVE)
               : EXIT_OK;
}

// What the forecast takes as a draw's length of load and number of tokens.
#define DRAW_LOAD_NS (7 * NS_PER_S)
#define DRAW_TOKENS 1000

// Returns how many draws this call will make: as many as there is time for when each takes each_ns,
// or those of --draws and --only if they are fewer.
static int64_t count_coming_draws(const struct exploring *x, int64_t each_ns)
{
    int64_t asked = count_asked_draws(x);
    int64_t draws =
        x->deadline_ns == INT64_MAX ? INT64_MAX : (x->deadline_ns - x->began_ns) / each_ns;

    // Draws of earlier calls are not made again, unless --only lists them.
    if (x->options->explore.draws)
        asked = clock_max(0, asked - (int64_t)x->journal.tried);
    return x->options->explore.draws || x->number_count > 0 ? clock_min(draws, asked) : draws;
}

static void tell_forecast(const struct exploring *x)
{
    int64_t each_ns = (DRAW_LOAD_NS + SUITE_OVERHEAD_NS) / x->jobs;
    int64_t draws = count_coming_draws(x, each_ns);
    struct forecast f = {0};

    forecast_add(&f, (size_t)draws, DRAW_LOAD_NS, DRAW_TOKENS,
        options_start_servers(x->options) ? x->jobs : 0);
    // forecast_add assumes that runs come one after another, but here several run at a time.
    f.ns = draws * each_ns;
    f.kept = 0; // only draws that broke something keep their results
    forecast_tell(&f, "draw", "draws");
}

static void tell_start(const struct exploring *x)
{
    if (x->options->quiet)
        return;
    if (x->journal.tried > 0)
        printf("explore: goes on after %zu %s of %zu %s\n", x->journal.tried,
            NOUN(x->journal.tried, "draw", "draws"), x->journal.calls,
            NOUN(x->journal.calls, "call", "calls"));
    tell_forecast(x);
    fflush(stdout);
}

// Copies the scenario of a failure from the folder of the shard that found the failure.
static bool copy_found(
    struct exploring *x, const struct failure *f, const char *place, struct err *e)
{
    char from[PATH_MAX], to[PATH_MAX];
    struct buf text FREED_BY(buf_fini) = BUF_INIT(PAGE_MAX_BYTES);

    return path_join(from, place, f->file, e) && path_join(to, x->dir, f->file, e) &&
           path_read(from, &text, ERR_USAGE, e) && file_write("out", to, &text, e);
}

// Takes the scenarios of all failures from the folders of the merged shards.
static bool take_found(struct exploring *x, struct err *e)
{
    const struct record *r = &x->journal.record;
    bool ok = true;
    json_t *line;
    size_t i;

    json_array_foreach(r->lines, i, line)
    {
        const char *name = json_string_value(json_object_get(line, "failure"));
        const struct failure *f = name ? journal_failure(&x->journal, name) : NULL;
        // Several shards may have found the same failure. Its scenario is that of the draw with the
        // lowest number.
        if (ok && f && f->draw == (uint64_t)parse_integer(line, "n"))
            ok = copy_found(x, f, record_folder(r, line), e);
    }
    return ok;
}

// Ends this call's part of the record. If no draw is left, the shard is finished.
static bool end_record(struct exploring *x, struct err *e)
{
    double took_s = (double)(clock_now_ns() - x->began_ns) / NS_PER_S;

    return journal_end(&x->journal, took_s, e) &&
           (!exploring_done(x) || record_finish(&x->journal.record, e));
}

// Searches and writes the page. If shards are merged, only takes what they found.
static bool explore(struct exploring *x, struct err *e)
{
    struct err late = {0};

    if (x->options->merged)
        return take_found(x, e) && write_explore_page(x, e);
    x->runners.collector = x->options->collector;
    x->runners.conninfo = x->options->conninfo;
    x->runners.sets = &x->sets;
    if (!exploring_path(x, x->runners.out, "runs", "", e) ||
        !exploring_path(x, x->runners.logs, "logs", "", e))
        return false;
    tell_start(x);
    // The workers are forked first, while this process has only one thread.
    bool ok = run_pool_start(&x->runners, x->jobs, e) && search_draws(x, e);
    run_pool_end(&x->runners);
    // Findings are kept even if the search ended with an error; of several errors the first is
    // reported.
    ok = suspects_end(x, ok ? e : &late) && ok;
    return end_record(x, ok ? e : &late) && write_explore_page(x, ok ? e : &late) && ok;
}

int cli_explore(const struct options *o)
{
    struct exploring *x FREED_BY(memory_free) = memory_zeroed(1, sizeof *x);
    struct err e = {0};

    bool ok = exploring_init(x, o, &e) && explore(x, &e);
    int code = ok ? explore_exit_code(x) : cli_fail(&e);
    exploring_fini(x);
    return code;
}
