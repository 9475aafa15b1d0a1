#include "field/experiment.h"

#include <math.h>
#include <stdarg.h>
#include <time.h>

#include "options/locate.h"
#include "options/subjects.h"
#include "report/files/parse_json.h"
#include "run/runner.h"
#include "scenario/needs.h"

#define FURTHER_MAX 7 // most changes besides those of the question
#define SET_MAX 40    // longest of these, in bytes

// All changes (--set) of a run: those of every question, those of this question, and those that
// depend on the subject or the seed.
struct sets {
    char texts[FURTHER_MAX][SET_MAX];
    const char *items[QUESTION_SETS_MAX + FURTHER_MAX + 1]; // 1: the provider, which
                                                            // options_overrides appends
    size_t texts_count, count;
};

static void add_set(struct sets *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

// Adds one change, such as "drain=5s".
static void add_set(struct sets *s, const char *fmt, ...)
{
    char *text = s->texts[s->texts_count++];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, SET_MAX, fmt, args);
    va_end(args);
    s->items[s->count++] = text;
}

// Collects the changes (--set) of a run: no expectations of the scenario, enough time for a queue
// that notices a death late, and the changes of the question.
static void collect_sets(const struct experiment *x, struct sets *s)
{
    const bool slow = x->question->asks == ASKS_AT_ONCE;
    const int handler_s = slow ? 2 * x->claim_s : 0; // delays are drawn from 0 to this, so half of
                                                     // the handlers outlast the claim
    const int drain_s = x->drain_s + 4 * handler_s;  // generous (4): the jobs may be handled one
                                                     // after another, and some of them twice

    *s = (struct sets){0};
    add_set(s, "expect={}");
    add_set(s, "drain=%ds", drain_s);
    add_set(s, "recovery_limit=%ds", drain_s);
    // No cell of the table depends on the slack. But it also widens the gates (limits on the
    // harness itself): with a short slack, runs on a busy machine would be inconclusive.
    add_set(s, "slack=3s");
    for (size_t i = 0; i < QUESTION_SETS_MAX && x->question->sets[i]; i++)
        s->items[s->count++] = x->question->sets[i];
    if (slow)
        add_set(s, "collector.sender={delay: 0s..%ds}", handler_s);
    // Only the questions about speed and recovery take the subject's rate. The others have so few
    // jobs that every queue can do them.
    if (x->question->asks == ASKS_SPEED ||
        (x->question->asks == ASKS_RECOVERY && x->rate != EXPERIMENT_RATE))
        add_set(s, "load.0.rate=%d/s", x->rate);
    if (x->seed != 1)
        add_set(s, "seed=%d", x->seed);
}

void experiment_command(const struct experiment *x, char *out, size_t size)
{
    struct sets s;
    size_t len = 0;

    collect_sets(x, &s);
    len += (size_t)snprintf(
        out, size, "mailproof run %s --subject %s", x->question->scenario, x->subject);
    for (size_t i = 0; i < s.count && len < size; i++)
        len += (size_t)snprintf(out + len, size - len, " --set '%s'", s.items[i]);
}

// --- the answer -------------------------------------------------------------------------

// Counts the planned faults, and those that took effect.
static void read_faults(struct answer *a, const json_t *all)
{
    const json_t *fault;
    size_t i;

    a->planned = (double)json_array_size(all);
    json_array_foreach(all, i, fault) a->struck +=
        json_is_true(json_object_get(fault, "ok")) &&
        !json_is_true(json_object_get(fault, "left_out"));
}

// Returns a time in ms; NAN for CLOCK_NEVER, which stands for a time that does not exist.
static double ms_of(int64_t ns)
{
    return ns == CLOCK_NEVER ? NAN : (double)ns / (double)NS_PER_MS;
}

// Reads what the harness saw of the handlers that it told how to end. Without a job that came
// again, rerun_ms is NAN; without one that was tried again, both gaps are.
static void read_handlers(struct answer *a, const struct run_outcome *outcome)
{
    const struct handlers *h = &outcome->handlers;

    a->in_hand = h->in_hand;
    a->rerun_ms = h->came_again > 0 ? ms_of(h->again_ns) : NAN;
    a->at_once = h->at_once;
    a->failing = h->failing;
    a->attempts = h->attempts;
    a->gap_min_ms = h->attempts > 1 ? ms_of(h->gap_min_ns) : NAN;
    a->gap_max_ms = h->attempts > 1 ? ms_of(h->gap_max_ns) : NAN;
    a->failed = outcome->failed;
}

// Returns a metric's count; NAN when the run itself doubts the count, which then accuses nobody.
static double settled_count(
    const json_t *figures, const struct run_outcome *outcome, enum metric_id id)
{
    return outcome->doubted[id] ? NAN : parse_figure(figures, metrics[id].name);
}

// Notes the day, and which version of mailproof made the run. A table may have answers of several.
static void read_origin(struct answer *a, const json_t *environment)
{
    char version[32], commit[44];
    time_t now = time(NULL);
    struct tm utc;

    parse_text(environment, "mailproof", version, sizeof version);
    parse_text(environment, "commit", commit, sizeof commit);
    snprintf(a->program, sizeof a->program, "%s (%s)", version, commit);
    strftime(a->day, sizeof a->day, "%Y-%m-%d", gmtime_r(&now, &utc));
}

// Makes the answer of a run from its outcome and its result.json. False when that cannot be read.
static bool read_answer(struct answer *a, const struct run_outcome *outcome, struct err *e)
{
    json_t *result FREED_BY(json_decrefp) = parse_file(outcome->folder, "result.json", e);
    const json_t *figures = json_object_get(result, "metrics");
    const json_t *server = json_object_get(result, "server");
    const json_t *cpu = json_object_get(result, "cpu_s");
    const json_t *environment = json_object_get(result, "environment");
    // The time of all backends and of the server's own processes, because a queue may do its work
    // in triggers or in background workers.
    double backends = parse_figure(cpu, "collector_backends") + parse_figure(cpu, "load_backends") +
                      parse_figure(cpu, "server");

    if (!result)
        return false;
    *a = (struct answer){
        .p50 = parse_figure(figures, "latency.p50"),
        .p99 = parse_figure(figures, "latency.p99"),
        .wal = parse_figure(server, "wal_bytes_per_token"),
        .cpu_ms = backends * 1000 / parse_figure(figures, "committed"),
        .dead = parse_figure(server, "dead_tuples_max"),
        .lost = settled_count(figures, outcome, METRIC_LOST),
        .left = outcome->left,
        .taken = outcome->taken,
        .again = outcome->again,
        .exits = settled_count(figures, outcome, METRIC_UNPLANNED_EXIT),
        .recovery_ms = parse_figure(figures, "recovery.max"),
        .postgres = parse_figure(environment, "postgres_version"),
        // result.json has a "silence" if the run did not pass and the consumer ran no job, or no
        // more, while jobs were put; it may have ended, too.
        .deaf = json_is_object(json_object_get(result, "silence")),
        .judged = outcome->verdict != VERDICT_INCONCLUSIVE,
    };
    snprintf(a->folder, sizeof a->folder, "%.199s", outcome->folder);
    read_faults(a, json_object_get(result, "faults"));
    read_handlers(a, outcome);
    read_origin(a, environment);
    return true;
}

// Loads the scenario with its changes, runs it, and reads the answer.
static bool run_loaded(const struct options *o, const char *path, const struct overrides *sets,
    struct answer *a, struct err *e)
{
    struct run_options how = {
        .postgres = o->conninfo,
        .out = o->out,
        .quiet = true,
        .silent = true,
    };
    struct run_outcome outcome = {0};
    struct scenario s FREED_BY(scenario_fini) = {0};
    bool ok = scenario_load(&s, path, sets, e);

    // Tokens of several kinds of mail mean nothing to a job queue, so take the kinds out of the
    // load.
    if (ok)
        subjects_adapt(&s);
    return ok && needs_met(&s, e) && run_scenario(&s, &how, &outcome, e) &&
           read_answer(a, &outcome, e);
}

// Runs the question's scenario with all changes, and reads the answer.
static bool run_question(
    const struct experiment *x, const struct options *o, struct answer *answer, struct err *e)
{
    struct options own = *o;
    struct subject_sets sets FREED_BY(subjects_sets_fini) = {0};
    struct paths paths FREED_BY(locate_fini) = {0};
    struct sets all;

    collect_sets(x, &all);
    // Drop the caller's changes and seed: the table shows the command that repeats this run, and
    // it has only the changes in `all`.
    own.run.subject = x->subject;
    own.sets = all.items;
    own.set_count = all.count;
    own.seed[0] = '\0';
    return subjects_sets(&sets, &own, e) && locate_scenarios(&paths, x->question->scenario, e) &&
           run_loaded(o, paths.items[0], &sets.overrides, answer, e);
}

void experiment_key(const struct experiment *x, char key[ANSWERS_KEY_MAX])
{
    char command[700];

    experiment_command(x, command, sizeof command);
    snprintf(key, ANSWERS_KEY_MAX, "%s %s: %s", x->subject, x->version, command);
}

bool experiment_answer(const struct experiment *x, const struct options *o,
    struct answer_file *known, struct answer *answer, bool *fresh, struct err *e)
{
    char key[ANSWERS_KEY_MAX];

    experiment_key(x, key);
    *fresh = !answer_file_find(known, key, answer);
    if (!*fresh)
        return true;
    if (o->merged)
        return err_set(e, ERR_SKIP, "its shard did not finish");
    return run_question(x, o, answer, e) && answer_file_store(known, key, answer, e);
}
