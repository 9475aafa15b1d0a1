// Any stored history is either refused or can be judged. A history that can be judged gives the
// same verdict after it is written and read again.
//
// The input: a byte that chooses the scenario, then the history uncompressed, which zlib reads as
// well.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "base/clock.h"
#include "check/story.h"
#include "fuzz/fuzz.h"
#include "ledger/history.h"

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

static struct scenario *scenario_of(struct story *s, unsigned choice)
{
    static const char *const names[] = {"kill-collector", "partition", "restart-server"};
    struct scenario *scenario = &s->scenario;

    story_init(s);
    for (size_t i = 0; i < choice % 4; i++)
        s->specs[scenario->fault_count++] =
            (struct fault_spec){.verb = verb_find(names[i]), .for_ns = (int64_t)i * NS_PER_S};
    if (choice & 4)
        scenario->slack_ns = SLACK_AUTO;
    if (choice & 8) {
        scenario->collector.instances = 2;
        scenario->collector.dequeue = DEQUEUE_SHARED;
    }
    if (choice & 16)
        scenario->collector.layout = LAYOUT_FOREIGN;
    s->phases[0].closed = choice & 32;
    return scenario;
}

static void judge(struct result *r, const struct history *h)
{
    struct check_input input = check_input_of(h);
    struct err e = {0};

    FUZZ_MUST(check_ledger(r, &h->ledger, &input, &e));
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
    static struct story story;
    static struct history h;
    static struct result r;
    static struct memory_file file;
    struct fuzz_bytes in = {data, size};
    struct err e = {0};

    if (!file.path[0])
        make_file(&file);
    const struct scenario *s = scenario_of(&story, fuzz_byte(&in));
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

static void tell_plain(struct story *s)
{
    for (int i = 0; i < 4; i++) {
        uint32_t first = story_txn(s, 50 + 300 * i, 3);
        story_line(s, 60 + 300 * i, first, 3);
    }
}

static void tell_losses(struct story *s)
{
    uint32_t first = story_txn(s, 50, 5);

    s->kinds[first] = TOKEN_RECOVERY;
    s->kinds[first + 1] = TOKEN_SHORT_SECRET;
    s->kinds[first + 2] = TOKEN_EXPIRED;
    story_line(s, 300, first + 3, 1);
    story_txn(s, 160, 2);
    story_last(s)->outcome = TXN_UNKNOWN;
    story_txn(s, 170, 1);
    *story_last(s) = (struct txn_record){.outcome = TXN_NOT_SENT};
    story_line(s, 700, 0, 0)->state = LINE_TORN;
    s->deliveries[s->log.delivery_count++] =
        (struct delivery){.token = first, .line = 1, .flags = DELIVERY_NAMED};
    s->load.refused = 1;
    strcpy(s->load.refusal, "no");
}

static void tell_deaths(struct story *s)
{
    uint32_t first = story_txn(s, 50, 6);

    story_line(s, 100, first, 3);
    story_fault(s, "kill-collector", 400, 401);
    story_death(s, 400, true);
    story_line(s, 600, first + 3, 3);
    story_line(s, 601, first, 2);
    s->deliveries[s->log.delivery_count - 1].flags = DELIVERY_FORGED;
    story_death(s, 900, false);
    for (int64_t i = 0; i < 20; i++) {
        s->samples[s->log.sample_count++] = (struct process_sample){
            .at_ns = s->processes[0].started_ns + i * 100 * NS_PER_MS, .rss_kb = 9000};
        s->probes[s->ledger.probe_count++] =
            (struct probe_sample){.due_ns = s->processes[0].started_ns + i * 100 * NS_PER_MS,
                .took_ns = i % 7 ? 12345 : CLOCK_NEVER};
    }
}

// Makes the planned faults, which a story does not have, from its records of faults. A story may
// have more faults than its scenario; those are dropped.
static void plan_faults(struct story *s, size_t specs)
{
    static struct plan_fault faults[4];

    s->scenario.fault_count = specs;
    if (s->ledger.fault_count > specs)
        s->ledger.fault_count = specs;
    s->plan.faults = faults;
    s->plan.fault_count = s->ledger.fault_count;
    for (size_t i = 0; i < s->plan.fault_count; i++)
        faults[i] = (struct plan_fault){
            .at_ns = s->faults[i].planned_ns - s->ledger.start_ns,
            .end_ns = s->faults[i].planned_ns - s->ledger.start_ns,
        };
}

// Each function below damages a history as no run does. The writer does not notice the damage, or
// writes the history all the same.
static void damage_nothing(struct story *s)
{
    (void)s;
}

static void damage_delivery(struct story *s)
{
    s->deliveries[s->log.delivery_count - 1].line = (uint32_t)s->log.line_count;
}

static void damage_line(struct story *s)
{
    s->lines[s->log.line_count - 1].process = (uint32_t)s->log.process_count;
}

static void damage_tokens(struct story *s)
{
    s->lines[s->log.line_count - 1].tokens++;
}

static void damage_sample(struct story *s)
{
    s->samples[s->log.sample_count - 1].process = (uint32_t)s->log.process_count;
}

static void damage_rows(struct story *s)
{
    s->plan_txns[0].rows++;
}

static void damage_phase(struct story *s)
{
    s->plan_txns[0].phase = (uint8_t)s->scenario.load_count;
}

static void damage_kind(struct story *s)
{
    s->kinds[s->plan.token_count - 1] = TOKEN_KINDS;
}

static void damage_fault(struct story *s)
{
    s->plan.faults[0].spec = (uint32_t)s->scenario.fault_count;
}

static void (*const damages[])(struct story *) = {damage_nothing, damage_delivery, damage_line,
    damage_tokens, damage_sample, damage_rows, damage_phase, damage_kind, damage_fault};

static void (*const tellers[])(struct story *) = {tell_plain, tell_losses, tell_deaths};

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
    static struct story s;
    const size_t last = COUNT(tellers) * COUNT(choices) - 1;
    size_t damage = index > last ? index - last : 0, which = index > last ? last : index;
    struct history_notes notes = {.reconnects = UINT64_MAX};
    struct memory_file file;
    struct err e = {0};

    if (damage == COUNT(damages))
        return 0;
    data[0] = choices[which / COUNT(tellers)];
    const size_t specs = scenario_of(&s, data[0])->fault_count;
    tellers[which % COUNT(tellers)](&s);
    story_settle(&s);
    plan_faults(&s, specs);
    damages[damage](&s);
    make_file(&file);
    *good = damage == 0;
    bool written = history_write(file.path, &s.ledger, &s.load, &notes, &e);
    FUZZ_MUST(written || !*good);
    size_t len = 1 + unpack(&file, data + 1, size - 1);
    close(file.fd);
    story_fini(&s);
    return len;
}
