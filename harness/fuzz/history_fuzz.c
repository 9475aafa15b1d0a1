// Any stored history is either refused or can be judged. A history that can be judged gives the
// same verdict after it is written and read again.
//
// The input: a byte that chooses the scenario, then the history uncompressed, which zlib reads as
// well.
#include <math.h>
#include <sys/mman.h>
#include <zlib.h>

#include "fuzz/fuzz.h"
#include "ledger/history.h"
#include "story/story.h"

// A file in memory; zlib opens it by its path.
struct memory_file {
    int fd;
    char path[40];
};

static void make_file(struct memory_file *f)
{
    f->fd = memfd_create("history", MFD_CLOEXEC);
    FUZZ_MUST(f->fd >= 0);
    snprintf(f->path, sizeof f->path, "/proc/self/fd/%d", f->fd);
}

static void fill(const struct memory_file *f, const uint8_t *data, size_t len)
{
    FUZZ_MUST(ftruncate(f->fd, 0) == 0);
    FUZZ_MUST(pwrite(f->fd, data, len, 0) == (ssize_t)len);
}

#define CHOICES 64 // scenarios

// Writes the part of a story that says what the scenario is.
static void write_scenario(unsigned choice, char *text, size_t size)
{
    static const char *const names[] = {"kill-collector", "partition", "restart-server"};
    size_t len = 0;

    text[0] = '\0';
    for (size_t i = 0; i < choice % 4; i++)
        len += (size_t)snprintf(text + len, size - len, "fault {do: %s} struck %zu undone %zu\n",
            names[i], 400 + 500 * i, 401 + 1500 * i);
    snprintf(text + len, size - len, "%s%s%s%s", choice & 4 ? "set slack=auto\n" : "",
        choice & 8 ? "set collector.instances=2\nset collector.dequeue=shared\n" : "",
        choice & 16 ? "set collector.layout=foreign\n" : "",
        choice & 32 ? "set load.0.rate=max\n" : "");
}

// Reads a story of this file, which must be accepted.
static void read_valid_story(struct story *t, const char *text)
{
    struct err e = {0};
    bool told = story_read_text(t, text, "seed", &e);

    if (!told)
        fprintf(stderr, "%s\n", e.text);
    FUZZ_MUST(told);
}

// Returns the scenario with this number. It is made at the first call, and kept.
static const struct scenario *scenario_of(unsigned choice)
{
    static struct story told[CHOICES];
    struct story *t = &told[choice % CHOICES];
    char text[1000];

    write_scenario(choice, text, sizeof text);
    if (!t->scenario.name)
        read_valid_story(t, text);
    return &t->scenario;
}

static void judge(struct result *r, const struct history *h)
{
    struct check_input input = check_input_of(h);

    check_ledger(r, &h->ledger, &input);
}

// Compares two values. NAN, which says that a value was not measured, equals NAN.
static bool same_value(double a, double b)
{
    return isnan(a) ? isnan(b) : !(a < b) && !(a > b) && !isnan(b);
}

static bool same_judged(const struct judged *a, const struct judged *b)
{
    bool same = same_value(a->judged, b->judged) && same_value(a->of, b->of);

    for (size_t cause = 0; cause < CAUSE_KINDS; cause++)
        same = same && same_value(a->excused[cause], b->excused[cause]);
    return same;
}

static void check_same(const struct result *a, const struct result *b)
{
    FUZZ_MUST(a->verdict == b->verdict && a->reason_count == b->reason_count);
    FUZZ_MUST(a->slack_ns == b->slack_ns);
    for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
        const struct finding *x = &a->findings[id], *y = &b->findings[id];
        FUZZ_MUST(same_value(a->values[id], b->values[id]));
        FUZZ_MUST(x->count == y->count && a->broken[id] == b->broken[id]);
        FUZZ_MUST(x->example_count == y->example_count);
        FUZZ_MUST(same_judged(&a->judged[id], &b->judged[id]));
        for (size_t i = 0; i < x->example_count; i++)
            FUZZ_MUST(strcmp(x->examples[i], y->examples[i]) == 0);
    }
    for (size_t i = 0; i < a->reason_count; i++)
        FUZZ_MUST(strcmp(a->reasons[i], b->reasons[i]) == 0);
}

// Checks the indexes and values of a history that the checks use without testing them.
static void check_records(const struct history *h)
{
    const struct subject_log *log = &h->log;
    const struct plan *plan = &h->plan;
    size_t tokens = 0;

    for (size_t i = 0; i < plan->txn_count; tokens += plan->txns[i++].rows) {
        FUZZ_MUST(plan->txns[i].first_token == tokens);
        FUZZ_MUST(plan->txns[i].phase < h->ledger.scenario->load_count);
    }
    FUZZ_MUST(tokens == plan->token_count);
    for (size_t i = 0; i < plan->token_count; i++)
        FUZZ_MUST(plan->kinds[i] < TOKEN_KINDS);
    for (size_t i = 0; i < plan->fault_count; i++)
        FUZZ_MUST(h->faults[i].spec == &h->ledger.scenario->faults[plan->faults[i].spec]);
    for (size_t i = 0; i < log->line_count; i++) {
        const struct line_record *line = &log->lines[i];
        FUZZ_MUST(line->process < log->process_count && line->state <= LINE_TAIL);
        FUZZ_MUST((uint64_t)line->first_delivery + line->tokens <= log->delivery_count);
    }
    for (size_t i = 0; i < log->delivery_count; i++)
        FUZZ_MUST(log->deliveries[i].line < log->line_count);
    for (size_t i = 0; i < log->sample_count; i++)
        FUZZ_MUST(log->samples[i].process < log->process_count || log->process_count == 0);
}

// Checks properties that the verdict on any history has.
static void check_sound(const struct result *r, const struct history *h)
{
    const struct ledger *l = &h->ledger;
    uint64_t valid = 0;

    for (size_t i = 0; i < l->plan->token_count; i++) {
        uint32_t token = (uint32_t)i;
        valid += l->tokens[i].deliveries;
        FUZZ_MUST(l->txn_of[i] < l->plan->txn_count);
        FUZZ_MUST((ledger_read_ns(l, token) == CLOCK_NEVER) == (l->tokens[i].deliveries == 0));
    }
    FUZZ_MUST(valid <= l->log->delivery_count);
    for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
        FUZZ_MUST(!r->broken[id] || metrics[id].invariant);
        FUZZ_MUST(!r->broken[id] || r->verdict == VERDICT_VIOLATED);
    }
    FUZZ_MUST(r->verdict != VERDICT_INCONCLUSIVE || r->reason_count > 0);
}

static void check_again(const struct history *h, const struct scenario *s, const struct result *r)
{
    static struct history again;
    static struct result second;
    static struct memory_file file;
    struct err e = {0};

    if (!file.path[0])
        make_file(&file);
    fill(&file, NULL, 0);
    FUZZ_MUST(history_write(file.path, &h->ledger, &h->load, &h->notes, &e));
    bool accepted = history_read(&again, file.path, s, &e);
    if (!accepted)
        fprintf(stderr, "%s\n", e.text);
    FUZZ_MUST(accepted);
    judge(&second, &again);
    check_same(r, &second);
    result_fini(&second);
    history_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct history h;
    static struct result r;
    static struct memory_file file;
    struct fuzz_bytes in = {data, size};
    struct err e = {0};

    if (!file.path[0])
        make_file(&file);
    const struct scenario *s = scenario_of(fuzz_byte(&in));
    fill(&file, in.at, in.left);
    if (!history_read(&h, file.path, s, &e)) {
        FUZZ_MUST(e.kind == ERR_SYSTEM && e.text[0]);
        return 0;
    }
    fuzz_accept();
    check_records(&h);
    judge(&r, &h);
    check_sound(&r, &h);
    check_again(&h, s, &r);
    result_fini(&r);
    history_fini(&h);
    return 0;
}

// --- seeds -------------------------------------------------------------------------------

static const char *const stories[] = {
    "repeat 4 every 300: token 0-2 at 50\n"
    "repeat 4 every 300: line by 0 at 60: 0-2\n",

    "load refused 1\n"
    "token 0 at 50 recovery\n"
    "token 1 at 50 short-secret\n"
    "token 2 at 50 expired\n"
    "token 3-4 at 50\n"
    "token 5-6 at 160 unknown\n"
    "token 7 unsent\n"
    "line by 0 at 300: 3\n"
    "line by 0 at 700 torn: 0 named\n",

    "token 0-5 at 50\n"
    "process 0 until 400 killed\n"
    "process 1 from 500 until 900 exit 1\n"
    "process 2 from 1000\n"
    "line by 0 at 100: 0-2\n"
    "line by 1 at 600: 3-5\n"
    "line by 1 at 601: 0 1 forged\n"
    "repeat 20 every 100: sample by 0 at -1000 rss 9000\n"
    "repeat 20 every 100: probe at -1000 took 0.012345\n"
    "probe at 1500 took never\n",
};

// Each function below damages a history as no run does. The writer does not notice the damage, or
// writes the history all the same.
static void damage_nothing(struct history *h)
{
    (void)h;
}

static void damage_delivery(struct history *h)
{
    h->log.deliveries[h->log.delivery_count - 1].line = (uint32_t)h->log.line_count;
}

static void damage_line(struct history *h)
{
    h->log.lines[h->log.line_count - 1].process = (uint32_t)h->log.process_count;
}

static void damage_tokens(struct history *h)
{
    h->log.lines[h->log.line_count - 1].tokens++;
}

static void damage_sample(struct history *h)
{
    h->log.samples[h->log.sample_count - 1].process = (uint32_t)h->log.process_count;
}

static void damage_rows(struct history *h)
{
    h->plan.txns[0].rows++;
}

static void damage_phase(struct history *h)
{
    h->plan.txns[0].phase = (uint8_t)h->ledger.scenario->load_count;
}

static void damage_kind(struct history *h)
{
    h->plan.kinds[h->plan.token_count - 1] = TOKEN_KINDS;
}

static void damage_fault(struct history *h)
{
    h->plan.faults[0].spec = (uint32_t)h->ledger.scenario->fault_count;
}

static void (*const damages[])(struct history *) = {damage_nothing, damage_delivery, damage_line,
    damage_tokens, damage_sample, damage_rows, damage_phase, damage_kind, damage_fault};

#define COUNT(array) (sizeof(array) / sizeof *(array))

// Returns the file's bytes before compression.
static size_t unpack(const struct memory_file *file, uint8_t *data, size_t size)
{
    gzFile stream = gzopen(file->path, "rb");

    FUZZ_MUST(stream);
    int len = gzread(stream, data, (unsigned)size);
    FUZZ_MUST(len > 0);
    gzclose(stream);
    return (size_t)len;
}

// Makes each story in each scenario, and then each kind of damage to the last of them.
size_t fuzz_seed(size_t index, uint8_t *data, size_t size, bool *good)
{
    static const uint8_t choices[] = {0, 1 + 4, 3 + 8 + 16};
    static struct story t;
    const size_t last = COUNT(stories) * COUNT(choices) - 1;
    size_t damage = index > last ? index - last : 0, which = index > last ? last : index;
    struct memory_file file;
    char text[4000];
    struct err e = {0};

    if (damage == COUNT(damages))
        return 0;
    data[0] = choices[which / COUNT(stories)];
    write_scenario(data[0], text, sizeof text);
    size_t len = strlen(text);
    snprintf(text + len, sizeof text - len, "%s", stories[which % COUNT(stories)]);
    read_valid_story(&t, text);
    damages[damage](&t.history);
    make_file(&file);
    *good = damage == 0;
    bool written =
        history_write(file.path, &t.history.ledger, &t.history.load, &t.history.notes, &e);
    FUZZ_MUST(written || !*good);
    len = 1 + unpack(&file, data + 1, size - 1);
    close(file.fd);
    story_fini(&t);
    return len;
}
