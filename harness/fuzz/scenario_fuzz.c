// Any text is either refused, with the place and the reason, or is a scenario. A scenario can be
// planned, and is the same after it is written and read again.
//
// The input is a scenario file. Lines that begin with "--set " are options, and those after a line
// "--trace" are the file of recorded times.
#include <ctype.h>

#include "fuzz/fuzz.h"
#include "plan/plan.h"
#include "scenario/trace.h"

#define FILE_NAME "scenario.yaml" // in a file of this name, the scenario may have any name
#define SETS_MAX 8
#define WRITTEN_MAX ((size_t)8 << 20)

// Larger plans are not made, because that would take too long for thousands of inputs.
#define TOKENS_MAX 2000
#define FAULTS_MAX 2000

struct sections {
    const char *yaml;
    size_t yaml_len;
    const char *sets[SETS_MAX];
    size_t set_count;
    const char *trace;
    size_t trace_len;
};

static size_t line_length(const char *at, const char *end)
{
    const char *newline = memchr(at, '\n', (size_t)(end - at));

    return newline ? (size_t)(newline - at) + 1 : (size_t)(end - at);
}

static bool begins(const char *line, size_t len, const char *word)
{
    return len >= strlen(word) && memcmp(line, word, strlen(word)) == 0;
}

// Splits `text` in place, and ends each option with a NUL.
static void split(struct sections *s, char *text, size_t len)
{
    static const char set[] = "--set ", trace[] = "--trace\n";
    char *end = text + len, *at = text;
    size_t n;

    *s = (struct sections){.yaml = text, .yaml_len = len};
    for (; at < end; at += n) {
        n = line_length(at, end);
        bool is_set = begins(at, n, set), is_trace = begins(at, n, trace);
        if ((is_set || is_trace) && s->yaml_len == len)
            s->yaml_len = (size_t)(at - text);
        if (is_trace) {
            s->trace = at + n;
            s->trace_len = (size_t)(end - at) - n;
            return;
        }
        if (is_set && s->set_count < SETS_MAX) {
            s->sets[s->set_count++] = at + strlen(set);
            at[at[n - 1] == '\n' ? n - 1 : n] = '\0';
        }
    }
}

// Checks that a refusal is one line that begins with the place.
static void check_refusal(const struct err *e, const struct sections *s)
{
    size_t line, column;

    FUZZ_MUST(e->kind == ERR_USAGE);
    for (const char *p = e->text; *p; p++)
        FUZZ_MUST(!iscntrl((unsigned char)*p));
    if (strncmp(e->text, "--set", 5) == 0)
        return;
    FUZZ_MUST(sscanf(e->text, FILE_NAME ":%zu:%zu: ", &line, &column) == 2);
    // libyaml knows five kinds of line ends. Each takes a byte or more, so there are at most as
    // many as bytes. The place may be in the line behind the last one.
    FUZZ_MUST(line >= 1 && line <= s->yaml_len + 2);
    FUZZ_MUST(column >= 1 && column <= s->yaml_len + 1);
}

// Returns how many tokens the plan may have, or somewhat more.
static double tokens_of(const struct scenario *s)
{
    double tokens = 0;

    // The mean of both rates times the length; 2e9 makes the mean, and s of ns.
    for (size_t i = 0; i < s->load_count; i++) {
        const struct load_phase *p = &s->load[i];
        tokens += p->closed ? TOKENS_MAX : (p->rate_from + p->rate_to) * (double)p->for_ns / 2e9;
        tokens += (double)p->trace_count * p->rows_to + p->rows_to;
    }
    return tokens;
}

// Returns how many faults the plan may have, each repetition counted.
static double faults_of(const struct scenario *s)
{
    double faults = 0;

    for (size_t i = 0; i < s->fault_count; i++) {
        const struct fault_spec *f = &s->faults[i];
        faults += f->every_ns ? (double)(f->until_ns - f->at_ns) / (double)f->every_ns + 1 : 1;
    }
    return faults;
}

// Checks that the plan of an accepted scenario has the properties that later folders rely on.
static void check_plan(const struct scenario *s)
{
    struct plan p;
    struct err e = {0};
    size_t tokens = 0;

    if (tokens_of(s) > TOKENS_MAX || faults_of(s) > FAULTS_MAX)
        return;
    if (!plan_make(&p, s, &e)) {
        FUZZ_MUST(e.kind == ERR_USAGE && e.text[0]);
        return;
    }
    for (size_t i = 0; i < p.txn_count; i++) {
        const struct plan_txn *t = &p.txns[i];
        FUZZ_MUST(t->at_ns >= (i ? p.txns[i - 1].at_ns : 0) && t->at_ns <= p.load_ns);
        FUZZ_MUST(t->first_token == tokens && t->rows > 0 && t->phase < s->load_count);
        tokens += t->rows;
    }
    FUZZ_MUST(tokens == p.token_count);
    for (size_t i = 0; i < p.fault_count; i++) {
        const struct plan_fault *f = &p.faults[i];
        FUZZ_MUST(f->at_ns >= (i ? p.faults[i - 1].at_ns : 0) && f->at_ns <= p.load_ns);
        FUZZ_MUST(f->end_ns >= f->at_ns && f->end_ns <= p.end_ns && f->spec < s->fault_count);
    }
    plan_fini(&p);
}

// Stores a scenario as a result folder does: the file, and the recorded times beside it.
static void store(const struct scenario *s, struct buf *yaml, struct buf *traces)
{
    struct err e;
    FUZZ_MUST(scenario_write(s, yaml, &e));
    files_clear();
    files_add(FILE_NAME, yaml->data, yaml->len);
    for (size_t i = 0; i < s->load_count; i++) {
        const struct load_phase *phase = &s->load[i];
        buf_init(&traces[i], WRITTEN_MAX);
        if (phase->arrivals != ARRIVALS_TRACE)
            continue;
        FUZZ_MUST(trace_write(phase, &traces[i]) && buf_str(&traces[i]));
        files_add(phase->file, traces[i].data, traces[i].len);
    }
}

static void check_round_trip(const struct scenario *s)
{
    struct buf yaml, *traces = calloc(s->load_count, sizeof *traces);
    struct scenario again;
    struct err e = {0};

    FUZZ_MUST(traces);
    buf_init(&yaml, WRITTEN_MAX);
    store(s, &yaml, traces);
    bool accepted = scenario_load(&again, FILE_NAME, &(struct overrides){0}, &e);
    const char *differs = accepted ? same_scenario(s, &again) : e.text;
    if (differs)
        fprintf(stderr, "%s, after:\n%.*s\n", differs, (int)yaml.len, yaml.data);
    FUZZ_MUST(accepted && !differs);
    scenario_fini(&again);
    for (size_t i = 0; i < s->load_count; i++)
        buf_fini(&traces[i]);
    free(traces);
    buf_fini(&yaml);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct scenario s;
    struct sections in;
    struct err e = {0};
    char *text = malloc(size + 1);

    FUZZ_MUST(text);
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    split(&in, text, size);
    struct overrides sets = {.items = in.sets, .count = in.set_count};
    files_clear();
    files_add(FILE_NAME, in.yaml, in.yaml_len);
    if (in.trace)
        files_add("trace.csv", in.trace, in.trace_len);
    if (scenario_load(&s, FILE_NAME, &sets, &e)) {
        fuzz_accept();
        check_plan(&s);
        check_round_trip(&s);
    } else {
        check_refusal(&e, &in);
    }
    scenario_fini(&s);
    free(text);
    return 0;
}

// --- seeds: one thing is wrong in each ---------------------------------------------------

size_t fuzz_seed(size_t index, uint8_t *data, size_t size, bool *good)
{
    static const char base[] = "name: base\nsummary: s\nload: [{for: 1s, rate: 1/s}]\n--set ";
    static const char *const wrong[] = {
        "postgres={standby: sync, provider: container}",
        "postgres={storage: crashable, provider: url}",
        "postgres.settings.work_mem=a\rb",
        "postgres.settings=[]",
        "collector.env.1A=x",
        "collector.env.MAILROOM_SECRET_KEY=x",
        "collector.env={A: [x]}",
        "collector.command=['', x]",
        "collector.command=x",
        "collector.command=[[x]]",
        "collector.batch_timeout=1us",
        "collector.restart=maybe",
        "collector.instances=[1]",
        "load=[]",
        "load.0={for: 1s, rate: 1/s, recovery: 0.6, unsendable: 0.6}",
        "load.0={for: 1s, rate: 1/s, hold_open: {share: 1, for: 0s}}",
        "load.0={for: 1s, rate: 1/s, file: x}",
        "load.0={for: 1s}",
        "load.0={for: 1s, rate: max, arrivals: poisson}",
        "load.0={for: 1s, rate: 1/s, arrivals: trace, file: x}",
        "load.0={for: 1s, arrivals: trace}",
        "load.0={for: 1s, rate: 1000001/s}",
        "load.0.rows_per_transaction=9..3",
        "load.1={name: phase-1, for: 1s, rate: 1/s}",
        "load.1={name: Big, for: 1s, rate: 1/s}",
        "faults.0={at: 0s, do: kill-server, by: 1s}",
        "faults.0={at: 0s, do: delay, for: 1s}",
        "faults.0={at: 0s, do: partition}",
        "faults.0={at: 0s, do: partition, for: 1s, through: kernel}",
        "faults.0={at: 0s, do: cut-power}",
        "faults.0={at: 0s, do: promote-standby}",
        "faults.0={at: 0s, do: reset, until: 1s}",
        "faults.0={at: 0s, do: reset, every: 1ms, until: 2s}",
        "faults.0={at: 1s, do: reset, every: 1ms, until: 1ms}",
        "faults.0={at: 0s, do: pause-reader, for: 2ms, every: 1ms}",
        "faults.0={at: 0s, do: pause-reader, for: 2ms, instance: 1}",
        "faults.0={at: 0s, do: throttle, for: 1s, rate: 0.5B/s}",
        "faults.0={at: 0s, do: cut-at, message: server Bind}",
        "faults.0={at: 0s, do: cut-at, message: client Bind 1}",
        "faults.0={at: 0s, do: cut-at, message: x y}",
        "faults.0={at: 0s, do: explode}",
        "faults.0.at.x=1",
        "faults.x=1",
        "faults.9={}",
        "seed.x=1",
        "allow=[]",
        "allow.lost=often",
        "expect=[]",
        "expect.latency.p99=< 5",
        "expect.late=~ 5",
        "drain=99h",
        "tags=[A]",
        "tags={}",
        "a..b=1",
        "=1",
        "seed=a: b: c",
        "seed=\"\\0\"",
        "seed=*x",
        "seed=--- 1\n--- 2",
        "seed=\xff",
    };

    if (index == sizeof wrong / sizeof *wrong)
        return 0;
    *good = false;
    return (size_t)snprintf((char *)data, size, "%s%s\n", base, wrong[index]);
}
