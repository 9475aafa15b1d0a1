// Makes the runs of mailproof tune. A pair is a batch limit and a batch timeout that are tried
// together. A round has one run of each pair that still needs runs.
//
// A first round of short runs goes through a proxy, which counts the round trips between collector
// and server. These runs are separate, because the proxy would slow runs that are timed. Then
// follow rounds of the pairs that are still open (schedule.h), in shuffled order, until each pair
// is known well enough or the time is over. All runs share one server, each with a fresh database,
// unless the scenario stops its server.
#include "tune/tuning.h"

#include <math.h>

#include "options/command_record.h"
#include "ledger/history.h"
#include "os/interrupt.h"
#include "os/paths.h"
#include "report/files/parse_json.h"
#include "report/forecast.h"
#include "report/suite.h"
#include "run/shared_server.h"
#include "run/runner.h"

// Length of the load in the runs that count round trips: long enough to see how many a batch costs.
static const int64_t counting_ns = 2 * NS_PER_S;
// Most runs of a pair unless --repeat asks for more: further runs would take too long.
static const size_t usual_runs_max = 20;

struct sweeping {
    struct tuning *tuning;
    struct server server;
    bool shared;        // true: all runs use `server`; false: each has a server of its own
    int64_t began_ns;   // when the sweep began
    int64_t longest_ns; // duration of the longest run so far
};

// --- one run --------------------------------------------------------------------------

// Fills in m->cost from the run's result.json. local: the server is on this machine.
static bool read_cost(struct measurement *m, const char *folder, bool local, struct err *e)
{
    json_t *result FREED_BY(json_decrefp) = parse_file(folder, "result.json", e);

    if (result)
        m->cost = cost_of(result, local);
    return result;
}

// Fills in m->recording from the history in the run's folder, a run of the scenario `s`.
static bool read_recording(
    struct measurement *m, const struct scenario *s, const char *folder, struct err *e)
{
    struct history h FREED_BY(history_fini) = {0};
    char path[PATH_MAX];
    bool ok = path_join(path, folder, HISTORY_NAME, e) && history_read(&h, path, s, e);

    if (ok)
        recording_take(&m->recording, &h.ledger);
    return ok;
}

// Prints in one line what a run of the pair has shown, unless --quiet is given.
static void print_pair_run(const struct tuning *t, size_t pair, const struct measurement *m)
{
    const struct tune_pair *p = &t->pairs[pair];

    if (t->options->quiet)
        return;
    printf("  limit %d, timeout %g ms: ", p->limit, (double)p->timeout_ns / NS_PER_MS);
    if (m->counts_trips && isnan(m->cost.round_trips))
        printf("round trips could not be counted\n");
    else if (m->counts_trips)
        printf("%.2f round trips per token\n", m->cost.round_trips);
    else if (isnan(m->run.values[METRIC_LATENCY_P99]))
        printf("%s\n", verdict_name(m->run.verdict));
    else
        printf("%s, latency.p99 %.4g ms\n", verdict_name(m->run.verdict),
            m->run.values[METRIC_LATENCY_P99]);
    fflush(stdout);
}

// Each run is an item of the record; its number holds the run's round and pair.
#define COUNTING_ROUND 0 // counts the round trips

static json_int_t run_number(uint64_t round, size_t pair)
{
    return (json_int_t)round * TUNE_PAIRS_MAX + (json_int_t)pair;
}

// True when the record has a run of this pair in this round.
static bool is_recorded(const struct tuning *t, uint64_t round, size_t pair)
{
    return record_line(t->record.lines, (uint64_t)run_number(round, pair));
}

// Reads a run's figures from its result folder and adds them to the pair, whether the run was made
// now, earlier or on another machine. `line` is the run's line in the record.
static bool read_pair_run(struct tuning *t, const json_t *line, struct err *e)
{
    const int64_t number = parse_integer(line, "n"); // from run_number
    const size_t pair = (size_t)(number % TUNE_PAIRS_MAX);
    struct measurement m = {.counts_trips = number / TUNE_PAIRS_MAX == COUNTING_ROUND};
    bool local = strcmp(t->scenario.postgres.provider, "local") == 0;
    char folder[PATH_MAX];

    // The record may come from another machine, where the grid had other pairs.
    if (number < 0 || pair >= t->tune.count)
        return err_set(e, ERR_USAGE, "%s/%s: there is no pair %zu", record_folder(&t->record, line),
            RECORD_NAME, pair);
    // The history of a run is read with the scenario of that run.
    t->scenario.collector.batch_limit = t->pairs[pair].limit;
    t->scenario.collector.batch_timeout_ns = t->pairs[pair].timeout_ns;
    bool ok = command_record_path(folder, &t->record, line, "folder", e) &&
              stored_read(&m.run, folder, e) && read_cost(&m, folder, local, e) &&
              (m.counts_trips || read_recording(&m, &t->scenario, folder, e));
    if (!ok) {
        recording_fini(&m.recording);
        return false;
    }
    // Round trips per token are known only if the collector delivered every token through the
    // proxy: trips for tokens that were not delivered would count for the others.
    double delivered = m.run.values[METRIC_DELIVERED];
    if (m.counts_trips && delivered > 0 && delivered >= m.run.values[METRIC_EXPECTED])
        m.cost.round_trips = parse_number(line, "trips") / delivered;
    // Do not print merged runs, because the shard that made them has printed them.
    if (!t->record.merged)
        print_pair_run(t, pair, &m);
    return measured_add(&t->runs[pair], &m, t->tune.objective, e);
}

// Makes a run of the pair, adds its figures to the pair, and the run to the record. False also
// after a signal. A run whose figures cannot be read is not recorded, because whoever goes on with
// the record would fail at this run each time.
static bool run_pair(struct sweeping *s, uint64_t round, size_t pair, struct err *e)
{
    struct tuning *t = s->tuning;
    struct run_options how = {.collector = t->options->collector,
        .out = t->out,
        .postgres = t->options->conninfo,
        .quiet = t->options->quiet,
        .silent = true,
        .server = s->shared ? &s->server : NULL,
        .count_trips = round == COUNTING_ROUND};
    struct run_outcome outcome;

    t->scenario.collector.batch_limit = t->pairs[pair].limit;
    t->scenario.collector.batch_timeout_ns = t->pairs[pair].timeout_ns;
    if (!run_scenario(&t->scenario, &how, &outcome, e))
        return false;
    // A signal cuts the load short, so the run's figures do not count.
    if (interrupt_signal())
        return err_set(e, ERR_INTERRUPTED, "interrupted");
    json_t *line = json_pack("{s:I, s:s, s:f}", "n", run_number(round, pair), "folder",
        command_record_below(outcome.folder, t->options->out), "trips", (double)outcome.trips);
    if (!line)
        return err_set(e, ERR_USAGE, "the path %.500s is not UTF-8", outcome.folder);
    // Read the figures back from the folder, as a merge does, so that both get the same figures.
    if (read_pair_run(t, line, e))
        return record_add(&t->record, line, e);
    json_decref(line);
    return false;
}

// --- rounds of runs -------------------------------------------------------------------

// Makes the first round: one run of each pair, through the proxy. For this round, shortens the
// phases of the load, except those of a recorded trace. Leaves out the runs that are in the record.
static bool count_round_trips(struct sweeping *s, struct err *e)
{
    struct scenario *scenario = &s->tuning->scenario;
    int64_t *lengths_ns FREED_BY(memory_free) =
        memory_allocate(scenario->load_count * sizeof *lengths_ns);
    bool ok = true;

    for (size_t i = 0; i < scenario->load_count; i++) {
        lengths_ns[i] = scenario->load[i].for_ns;
        if (scenario->load[i].arrivals != ARRIVALS_TRACE)
            scenario->load[i].for_ns = clock_min(lengths_ns[i], counting_ns);
    }
    for (size_t i = 0; ok && i < s->tuning->tune.count; i++)
        ok = s->tuning->pairs[i].left_out || is_recorded(s->tuning, COUNTING_ROUND, i) ||
             run_pair(s, COUNTING_ROUND, i, e);
    for (size_t i = 0; i < scenario->load_count; i++)
        scenario->load[i].for_ns = lengths_ns[i];
    return ok;
}

// Returns the largest number of runs of one pair. It is never below --repeat, the least number.
static size_t runs_max(const struct tuning *t)
{
    return (size_t)t->repeat > usual_runs_max ? (size_t)t->repeat : usual_runs_max;
}

// Fills `pairs` with the measurements so far. Returns their schedule, which borrows `pairs`.
static struct schedule make_schedule(const struct tuning *t, struct schedule_pair *pairs)
{
    for (size_t i = 0; i < t->tune.count; i++) {
        pairs[i] = measured_schedule(&t->runs[i]);
        pairs[i].left_out = t->pairs[i].left_out;
    }
    return (struct schedule){.pairs = pairs,
        .count = t->tune.count,
        .objective = t->tune.objective,
        .precision = t->options->tune.precision,
        .runs_min = (size_t)t->repeat,
        .runs_max = runs_max(t)};
}

// True when a run of this pair may begin: the pair has fewer runs than it needs at least, or the
// run ends within --within if it takes no longer than the longest run so far.
static bool has_time(const struct sweeping *s, const struct schedule *plan, size_t pair)
{
    int64_t used_ns = clock_now_ns() - s->began_ns;

    return plan->pairs[pair].tried < plan->runs_min ||
           used_ns + s->longest_ns <= s->tuning->within_ns;
}

// Makes one round of the open pairs, as far as the time allows. Sets *any to whether a run was
// made. False when a run could not be made, or after a signal.
static bool run_round(struct sweeping *s, uint64_t round, bool *any, struct err *e)
{
    struct tuning *t = s->tuning;
    struct schedule_pair pairs[TUNE_PAIRS_MAX];
    struct schedule plan = make_schedule(t, pairs);
    size_t order[TUNE_PAIRS_MAX];
    size_t count = schedule_round(&plan, t->scenario.seed, round, order);

    *any = false;
    for (size_t i = 0; i < count; i++) {
        int64_t began_ns = clock_now_ns();
        // Go on, because the next pair may still lack its least number of runs.
        if (!has_time(s, &plan, order[i]))
            continue;
        if (!run_pair(s, round, order[i], e))
            return false;
        s->longest_ns = clock_max(s->longest_ns, clock_now_ns() - began_ns);
        *any = true;
    }
    return true;
}

// Fills in the figures and the state of each pair.
static void summarise(struct tuning *t)
{
    struct schedule_pair pairs[TUNE_PAIRS_MAX];
    struct schedule plan = make_schedule(t, pairs);

    for (size_t i = 0; i < t->tune.count; i++) {
        measured_summarise(&t->runs[i], &t->pairs[i]);
        t->pairs[i].state = schedule_state_name(schedule_state(&plan, i));
    }
}

static bool any_measured(const struct tuning *t)
{
    size_t tried = 0;

    for (size_t i = 0; i < t->tune.count; i++)
        tried += measured_schedule(&t->runs[i]).tried;
    return tried > 0;
}

// Makes the rounds of this shard. The runs of other shards are not known here, so this shard's own
// runs must not decide which pairs need more. So there are as many rounds as --repeat says, and the
// plan has no measurements: every pair is open in each round. A shard makes whole rounds, so that a
// slow machine slows all pairs alike.
static bool run_shard(struct sweeping *s, struct err *e)
{
    struct tuning *t = s->tuning;
    struct schedule_pair none[TUNE_PAIRS_MAX] = {0};
    const struct schedule plan = {
        .pairs = none, .count = t->tune.count, .runs_min = 1, .runs_max = 1};
    bool ok = !record_wants(&t->record, COUNTING_ROUND) || count_round_trips(s, e);

    for (uint64_t round = 1; ok && round <= (uint64_t)t->repeat; round++) {
        size_t order[TUNE_PAIRS_MAX];
        if (!record_wants(&t->record, round))
            continue;
        size_t count = schedule_round(&plan, t->scenario.seed, round, order);
        for (size_t i = 0; ok && i < count; i++)
            ok = is_recorded(t, round, order[i]) || run_pair(s, round, order[i], e);
    }
    return ok;
}

// Returns the number of the first round after those that have runs in the record.
static uint64_t next_round(const struct tuning *t)
{
    uint64_t next = COUNTING_ROUND + 1;
    size_t i;
    json_t *line;

    json_array_foreach(t->record.lines, i, line)
    {
        uint64_t round = (uint64_t)parse_integer(line, "n") / TUNE_PAIRS_MAX;
        next = round >= next ? round + 1 : next;
    }
    return next;
}

// Makes rounds until enough is known or the time is over. A round that was interrupted is not
// resumed; a pair that still lacks a conclusive run comes first in the next round.
static bool run_rounds(struct sweeping *s, struct err *e)
{
    bool any = true;
    bool ok = count_round_trips(s, e);

    for (uint64_t round = next_round(s->tuning); ok && any; round++)
        ok = run_round(s, round, &any, e);
    return ok;
}

// If no pair that was run can be recommended, admits the pairs that the model left out. True if
// there are such pairs; they are to be run now.
static bool admit_left_out(struct tuning *t)
{
    bool any = false;

    summarise(t);
    tune_judge(&t->tune);
    if (tune_recommend(&t->tune))
        return false;
    for (size_t i = 0; i < t->tune.count; i++) {
        any = any || t->pairs[i].left_out;
        t->pairs[i].left_out = false;
    }
    return any;
}

// Returns how many runs of these rounds are still to be made by this shard.
static size_t runs_left(const struct tuning *t, uint64_t first, size_t rounds)
{
    size_t left = 0;

    for (uint64_t round = first; round < first + rounds; round++)
        for (size_t i = 0; i < t->tune.count; i++)
            left += !t->pairs[i].left_out && record_wants(&t->record, round) &&
                    !is_recorded(t, round, i);
    return left;
}

struct forecast sweep_forecast(const struct tuning *t)
{
    int64_t load_ns = scenario_load_ns(&t->scenario);
    size_t pairs = 0, rounds = (size_t)t->repeat;
    struct forecast f = {0};

    for (size_t i = 0; i < t->tune.count; i++)
        pairs += !t->pairs[i].left_out;
    int64_t round_ns = (int64_t)pairs * (load_ns + SUITE_OVERHEAD_NS);
    // The time limit does not hold for a shard, which makes all its rounds.
    if (!t->options->shard.of && pairs > 0 && t->within_ns > (int64_t)rounds * round_ns)
        rounds = (size_t)clock_min(t->within_ns / round_ns, (int64_t)runs_max(t));
    int servers = forecast_servers(&t->scenario);
    uint64_t tokens = (uint64_t)(model_rate(&t->model) * (double)load_ns / NS_PER_S);
    forecast_add(&f, runs_left(t, COUNTING_ROUND + 1, rounds), load_ns, tokens, servers);
    // Each pair has one more run, through the proxy, to count its round trips. Its tokens are
    // few, and are left out: 0.
    forecast_add(&f, runs_left(t, COUNTING_ROUND, 1), clock_min(load_ns, counting_ns), 0, servers);
    return f;
}

// Makes all runs that the record lacks, those of this shard or of the whole work, and finishes the
// record.
static bool make_runs(struct tuning *t, struct err *e)
{
    struct sweeping s = {
        .tuning = t, .shared = shared_fits(&t->scenario), .began_ns = clock_now_ns()};
    struct forecast f = sweep_forecast(t);
    if (f.runs > 0 && !t->options->quiet)
        forecast_tell(&f, "run", "runs");
    bool ok = !s.shared || shared_open(&s.server, &t->scenario, t->options->conninfo, e);

    ok = ok && (t->options->shard.of ? run_shard(&s, e) : run_rounds(&s, e));
    if (ok && !t->options->shard.of && admit_left_out(t))
        ok = run_rounds(&s, e);
    if (s.shared)
        shared_close(&s.server);
    return ok && record_finish(&t->record, e);
}

// Adds the runs that the record holds already.
static bool read_recorded(struct tuning *t, struct err *e)
{
    json_t *sorted FREED_BY(json_decrefp) = record_sorted(&t->record), *line;
    bool ok = true;
    size_t i;

    json_array_foreach(sorted, i, line)
    {
        ok = ok && read_pair_run(t, line, e);
    }
    return ok;
}

// Opens the record of the sweep's runs. tune.gaps is the record's text about missing shards, which
// the recommendation repeats.
static bool open_sweep_record(struct tuning *t, struct err *e)
{
    char about[COMMAND_RECORD_ABOUT_MAX];

    if (!command_record_about(about, t->options, &t->scenario, 1, e) ||
        !command_record_open(&t->record, t->options, "tune", about, true, e))
        return false;
    t->tune.gaps = record_gaps(&t->record);
    return true;
}

bool sweep(struct tuning *t, struct err *e)
{
    bool ok =
        open_sweep_record(t, e) && read_recorded(t, e) && (t->record.merged || make_runs(t, e));

    t->tune.interrupted = !ok && interrupt_signal();
    // After a signal, a pair can be recommended by the runs made so far. The recommendation says on
    // what it rests.
    if (t->tune.interrupted)
        ok = any_measured(t) || err_set(e, ERR_INTERRUPTED,
                                    "tune was interrupted before the first pair was measured, so "
                                    "it cannot recommend any; --limit and --timeout choose fewer "
                                    "pairs, --set load.0.for=… shorter runs");
    if (ok)
        summarise(t);
    return ok;
}
