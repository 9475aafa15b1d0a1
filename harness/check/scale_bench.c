// scale_bench TOKENS: makes up a good run with this many tokens in memory, judges it and cuts it
// into seconds. Measures the memory that the harness needs and the time that the verdict takes.
//
// scale_bench TOKENS FOLDER: writes such a run there instead, for `mailproof check`.
#include <sys/resource.h>

#include "check/check.h"
#include "check/intervals.h"
#include "scenario/promises.h"

#define RATE 100000.0
#define LIMIT 10

struct made_up {
    struct scenario scenario;
    struct load_phase phase;
    struct plan plan;
    struct txn_record *txns;
    struct process_record process;
    struct subject_log log;
    struct load_result load;
    struct ledger ledger;
};

// Scatters times within half a millisecond, so that a stored history is as long as a real one.
static int64_t scattered_ns(size_t number)
{
    return (int64_t)((uint32_t)number * UINT32_C(2654435761) >> 13);
}

// Each token is acknowledged 1 ms after its time. A line holds ten tokens and is read 1 ms after
// the last.
static void make_history(struct made_up *m)
{
    size_t tokens = m->plan.token_count;

    for (size_t t = 0; t < tokens; t++) {
        int64_t sent_ns = m->ledger.start_ns + m->plan.txns[t].at_ns;
        size_t line = t / LIMIT;
        m->txns[t] = (struct txn_record){
            sent_ns, sent_ns, sent_ns + NS_PER_MS + scattered_ns(t), TXN_COMMITTED};
        m->log.deliveries[t] = (struct delivery){.token = (uint32_t)t, .line = (uint32_t)line};
        m->ledger.tokens[t] = (struct ledger_token){.flags = TOKEN_PRESENT,
            .deliveries = 1,
            .first_line = (uint32_t)line,
            .expires_at_s = 100000};
        m->log.lines[line].tokens++;
        m->log.lines[line].read_ns = sent_ns + 2 * NS_PER_MS + scattered_ns(line);
        if (t % LIMIT == 0)
            m->log.lines[line].first_delivery = (uint32_t)t;
    }
    m->log.delivery_count = tokens;
    m->log.line_count = (tokens + LIMIT - 1) / LIMIT;
    m->ledger.load_end_ns = m->ledger.start_ns + m->plan.load_ns;
    m->ledger.drain_end_ns = m->ledger.load_end_ns + NS_PER_S;
    m->process = (struct process_record){
        .pid = 1, .started_ns = 1, .ended_ns = m->ledger.drain_end_ns + 1, .asked = true};
}

static bool make_room(struct made_up *m, struct err *e)
{
    if (!plan_make(&m->plan, &m->scenario, e) ||
        !ledger_init(&m->ledger, &m->scenario, &m->plan, e))
        return false;
    m->txns = calloc(m->plan.txn_count, sizeof *m->txns);
    m->log.deliveries = calloc(m->plan.token_count, sizeof *m->log.deliveries);
    m->log.lines = calloc(m->plan.token_count / LIMIT + 1, sizeof *m->log.lines);
    m->log.processes = &m->process;
    m->log.process_count = 1;
    m->ledger.txns = m->txns;
    m->ledger.log = &m->log;
    m->ledger.start_ns = NS_PER_S;
    return (m->txns && m->log.deliveries && m->log.lines) || err_memory(e);
}

static bool make_up(struct made_up *m, size_t tokens, struct err *e)
{
    m->phase = (struct load_phase){.name = "one",
        .for_ns = (int64_t)((double)tokens / RATE * 1e9),
        .rate_from = RATE,
        .rate_to = RATE,
        .arrivals = ARRIVALS_CONSTANT,
        .connections = 8,
        .rows_from = 1,
        .rows_to = 1};
    m->scenario = (struct scenario){
        .name = "scale", .load = &m->phase, .load_count = 1, .slack_ns = SLACK_AUTO};
    m->scenario.collector.batch_limit = LIMIT;
    m->scenario.collector.batch_timeout_ns = NS_PER_S;
    m->scenario.collector.instances = 1;
    m->scenario.collector.layout = LAYOUT_FOREIGN;
    m->scenario.collector.promises = PROMISES_FOREIGN | PROMISE_FILLS;
    return make_room(m, e);
}

static void add_delivered(void *arg, const struct interval *i)
{
    *(uint64_t *)arg += i->delivered;
}

// Writes the files that `mailproof check` wants beside the history. It only looks whether
// result.json is there, so that file holds an empty object.
static bool write_texts(const char *folder, size_t tokens, char scenario[PATH_MAX], struct err *e)
{
    char result[PATH_MAX];

    snprintf(scenario, PATH_MAX, "%s/scenario.yaml", folder);
    snprintf(result, sizeof result, "%s/result.json", folder);
    FILE *text = fopen(scenario, "we"), *empty = fopen(result, "we");
    bool ok = text && empty;
    if (text) {
        fprintf(text,
            "name: scale\nsummary: Made up.\n"
            "collector: {command: [none], layout: foreign, batch_limit: %d, batch_timeout: 1s}\n"
            "load: [{name: one, for: %zums, rate: %.0f/s, arrivals: constant, connections: 8}]\n",
            LIMIT, (size_t)((double)tokens / RATE * 1e3), RATE);
        ok = fclose(text) == 0 && ok;
    }
    if (empty)
        ok = fputs("{}\n", empty) != EOF && fclose(empty) == 0 && ok;
    return ok || err_sys(e, ERR_SYSTEM, "cannot write into %s", folder);
}

// Writes a made-up run instead of judging it.
static bool write_run(struct made_up *m, size_t tokens, const char *folder, struct err *e)
{
    const struct overrides none = {0};
    const struct history_notes notes = {0};
    char path[PATH_MAX];

    if (!write_texts(folder, tokens, path, e) || !scenario_load(&m->scenario, path, &none, e) ||
        !make_room(m, e))
        return false;
    make_history(m);
    snprintf(path, sizeof path, "%s/" HISTORY_NAME, folder);
    return history_write(path, &m->ledger, &m->load, &notes, e);
}

int main(int argc, char **argv)
{
    static struct made_up m;
    static struct result result;
    size_t tokens = argc == 2 || argc == 3 ? strtoul(argv[1], NULL, 10) : 0;
    struct check_input input = {.load = &m.load, .reconnects = 0};
    struct rusage usage;
    uint64_t delivered = 0;
    struct err e = {0};

    if (tokens == 0) {
        fprintf(stderr, "usage: scale_bench TOKENS [FOLDER]\n");
        return 64;
    }
    if (argc == 3 && write_run(&m, tokens, argv[2], &e))
        return 0;
    if (argc == 3 || !make_up(&m, tokens, &e)) {
        fprintf(stderr, "scale_bench: %s\n", e.text);
        return 70;
    }
    make_history(&m);
    int64_t begun_ns = clock_now_ns();
    check_ledger(&result, &m.ledger, &input);
    intervals_each_step(&m.ledger, NS_PER_S, add_delivered, &delivered);
    double took_s = (double)(clock_now_ns() - begun_ns) / 1e9;
    getrusage(RUSAGE_SELF, &usage);
    printf("%zu tokens: verdict %s, %llu delivered, judged in %.1f s, %ld MiB at most\n",
        m.plan.token_count, verdict_name(result.verdict), (unsigned long long)delivered, took_s,
        usage.ru_maxrss / 1024);
    for (size_t i = 0; i < result.reason_count; i++)
        printf("  because %s\n", result.reasons[i]);
    result_fini(&result);
    ledger_fini(&m.ledger);
    plan_fini(&m.plan);
    free(m.txns);
    free(m.log.deliveries);
    free(m.log.lines);
    return result.verdict == VERDICT_PASS ? 0 : 70;
}
