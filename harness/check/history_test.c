// A stored history reads back as it was. The reader refuses a file that was cut off, and survives
// any other damage.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "base/clock.h"
#include "check/story.h"
#include "ledger/history.h"
#include "plan/rng.h"

static int memory_fd; // the file is in memory, because thousands are written
static char path[64];

static int make_path(void **state)
{
    (void)state;
    memory_fd = memfd_create("history", MFD_CLOEXEC);
    snprintf(path, sizeof path, "/proc/self/fd/%d", memory_fd);
    return memory_fd < 0 ? -1 : 0;
}

static int remove_path(void **state)
{
    (void)state;
    return close(memory_fd);
}

// Tells a story with a bit of everything.
static void tell(struct story *s)
{
    static struct plan_fault planned;

    story_init(s);
    uint32_t first = story_txn(s, 50, 5);
    s->kinds[first] = TOKEN_RECOVERY;
    s->kinds[first + 1] = TOKEN_SHORT_SECRET;
    story_line(s, 151, first + 2, 2);
    story_txn(s, 160, 2);
    story_last(s)->outcome = TXN_UNKNOWN;
    story_txn(s, 170, 1);
    *story_last(s) = (struct txn_record){.outcome = TXN_NOT_SENT};
    story_fault(s, "kill-collector", 400, 401);
    s->plan.faults = &planned;
    s->plan.fault_count = 1;
    story_death(s, 400, true);
    story_line(s, 600, first + 2, 3);
    s->deliveries[s->log.delivery_count - 1].flags = DELIVERY_FORGED;
    story_line(s, 700, 0, 0)->state = LINE_TORN;
    s->deliveries[s->log.delivery_count++] =
        (struct delivery){.token = first, .line = 2, .flags = DELIVERY_NAMED};
    s->samples[s->log.sample_count++] = (struct process_sample){.at_ns = s->processes[0].started_ns,
        .rss_kb = 9000,
        .cpu_ms = 7,
        .wakeups = 3,
        .starved_us = 11};
    s->probes[0] = (struct probe_sample){.due_ns = s->processes[0].started_ns, .took_ns = 12345};
    s->probes[1] = s->probes[0];
    s->probes[1].took_ns = CLOCK_NEVER;
    s->ledger.probe_count = 2;
    for (int i = 0; i < 3; i++)
        s->attempts[s->attempt_count++] = (struct attempt_record){
            .token = first + (uint32_t)i, .number = (uint16_t)(i + 1), .end = ATTEMPT_LOST};
    s->load.refused = 1;
    strcpy(s->load.refusal, "no");
    s->starved[0] = (struct starved_sample){.at_ns = s->processes[0].started_ns, .busy_us = 1};
    s->starved[1] = s->starved[0];
    s->starved[1].collector_us = 5;
    s->ledger.starved_count = 2;
    s->rows[first] = ROW_READ;
    story_judge(s);
}

static void store(const struct story *s)
{
    struct history_notes notes = {.reconnects = UINT64_MAX};
    struct err e = {0};

    if (!history_write(path, &s->ledger, &s->load, &notes, &e))
        fail_msg("%s", e.text);
}

static void same_verdict(const struct result *a, const struct result *b)
{
    assert_int_equal(a->verdict, b->verdict);
    assert_int_equal(a->reason_count, b->reason_count);
    for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
        assert_int_equal(a->findings[id].count, b->findings[id].count);
        assert_int_equal(a->broken[id], b->broken[id]);
        assert_memory_equal(&a->values[id], &b->values[id], sizeof a->values[id]);
        for (size_t i = 0; i < a->findings[id].example_count; i++)
            assert_string_equal(a->findings[id].examples[i], b->findings[id].examples[i]);
    }
}

static void round_trip(void **state)
{
    static struct story s;
    static struct history h;
    struct result again;
    struct err e = {0};

    (void)state;
    tell(&s);
    store(&s);
    if (!history_read(&h, path, &s.scenario, &e))
        fail_msg("%s", e.text);
    struct check_input input = s.input;
    input.load = &h.load;
    assert_true(check_ledger(&again, &h.ledger, &input, &e));
    same_verdict(&s.result, &again);
    assert_string_equal(h.load.refusal, "no");
    assert_int_equal(h.log.samples[0].starved_us, 11);
    assert_int_equal(h.ledger.starved_count, 2);
    assert_memory_equal(h.ledger.starved, s.starved, 2 * sizeof *s.starved);
    assert_int_equal(h.ledger.attempt_count, 3);
    for (uint32_t t = 0; t < s.plan.token_count; t++)
        assert_int_equal(h.ledger.tokens[t].row, s.rows[t]);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(h.ledger.attempts[i].token, s.ledger.attempts[i].token);
        assert_int_equal(h.ledger.attempts[i].number, i + 1);
        assert_int_equal(h.ledger.attempts[i].end, ATTEMPT_LOST);
    }
    result_fini(&again);
    history_fini(&h);
    story_fini(&s);
}

static size_t slurp(unsigned char *bytes, size_t size)
{
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    size_t got = fread(bytes, 1, size, file);
    fclose(file);
    return got;
}

static void spill(const unsigned char *bytes, size_t size)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

// Takes `count` bytes out of `size` at `from`.
static size_t cut(unsigned char *bytes, size_t size, unsigned char *from, size_t count)
{
    memmove(from, from + count, (size_t)(bytes + size - (from + count)));
    return size - count;
}

static void expect_read(const struct story *s, uint64_t starved_us)
{
    static struct history h;
    struct err e = {0};

    if (!history_read(&h, path, &s->scenario, &e))
        fail_msg("%s", e.text);
    assert_int_equal(h.log.samples[0].wakeups, 3);
    assert_int_equal(h.log.samples[0].starved_us, starved_us);
    assert_null(h.ledger.sessions);
    history_fini(&h);
}

// Makes a file of each older version, the newest first. To make a version, it takes out the bytes
// that this version lacks (ledger/history.h lists them) and changes the version's number.
static void the_versions_before_are_read(void **state)
{
    static const unsigned char numbers[] = {7, 3, 11}; // the values of the only sample
    // The counts that say that there are no flushes, sessions, stalls and notes, no last words of
    // two processes, and no changes.
    static const unsigned char nothing_more[7] = {0};
    static const size_t end_bytes = 4; // "end" and its length
    static struct story s;
    static struct history h;
    unsigned char bytes[8192];
    struct err e = {0};

    (void)state;
    tell(&s);
    store(&s);
    gzFile file = gzopen(path, "rb");
    size_t size = (size_t)gzread(file, bytes, sizeof bytes);
    gzclose(file);
    unsigned char *version = (unsigned char *)memmem(bytes, size, "mailproof", 9) + 9;
    // The fields that each version added stand just before the end.
    const struct {
        unsigned char version;
        size_t bytes;
    } added[] = {
        {18, s.log.delivery_count},   // whether names were those from before a change
        {17, 2},                      // the counts of the only sample
        {16, 2},                      // the counts that say that there are no looks and no holds
        {15, 1},                      // what the logs hold
        {14, 2},                      // what a process left: a byte for each of the two
        {13, s.plan.token_count + 1}, // a byte for each token, and one more for the only known row
        {12, 18},                     // one time for each fault, and two for each line
        {11, 13}, // samples of waits: their count, and six bytes for each of the two
        {10, 1},  // the share of the processors that others used
        {9, 10},  // attempts: their count, and three bytes for each of the three
        {8, 3},   // the workers
        {7, 2 * s.plan.fault_count},                        // what a failover left behind
        {6, s.log.delivery_count + 2 * s.plan.token_count}, // answers and outcomes
    };
    assert_int_equal(*version, HISTORY_VERSION);
    for (size_t i = 0; i < sizeof added / sizeof *added; i++) {
        assert_int_equal(*version, added[i].version);
        size = cut(bytes, size, bytes + size - end_bytes - added[i].bytes, added[i].bytes);
        *version = (unsigned char)(added[i].version - 1);
        spill(bytes, size);
        expect_read(&s, 11);
    }
    unsigned char *more = bytes + size - end_bytes - sizeof nothing_more;
    assert_memory_equal(more, nothing_more, sizeof nothing_more);
    size = cut(bytes, size, more + sizeof nothing_more - 1, 1);
    *version = 4;
    spill(bytes, size);
    expect_read(&s, 11);
    size = cut(bytes, size, more, sizeof nothing_more - 1);
    *version = 3;
    spill(bytes, size);
    expect_read(&s, 11);
    unsigned char *sample = memmem(bytes, size, numbers, sizeof numbers);
    assert_non_null(sample);
    size = cut(bytes, size, sample + 2, 1);
    *version = 2;
    spill(bytes, size);
    expect_read(&s, 0);
    *version = 1;
    spill(bytes, size);
    assert_false(history_read(&h, path, &s.scenario, &e));
    story_fini(&s);
}

// Version 4 and later ones added these fields.
static void notes_come_back(void **state)
{
    static struct story s;
    static struct history h;
    struct history_notes notes = {.reconnects = 1, .interrupted = true};
    struct err e = {0};

    (void)state;
    tell(&s);
    int64_t sessions[] = {s.ledger.start_ns, s.ledger.start_ns + 7};
    s.faults[0].left_known = true;
    s.faults[0].left_ns = s.ledger.start_ns + 9;
    struct probe_sample flush = {.due_ns = s.ledger.start_ns, .took_ns = 77};
    s.ledger.sessions = sessions;
    s.ledger.session_count = 2;
    s.ledger.flushes = &flush;
    s.ledger.flush_count = 1;
    subject_note(&s.log, 0, 0, "email is not the database's");
    strcpy(s.log.processes[0].last_words, "oh|");
    for (int64_t i = 1; i <= 1000; i++)
        stalls_note(&notes.reader_stalls, i * NS_PER_S, i * NS_PER_S + 6 * NS_PER_MS);
    if (!history_write(path, &s.ledger, &s.load, &notes, &e) ||
        !history_read(&h, path, &s.scenario, &e))
        fail_msg("%s", e.text);
    assert_int_equal(h.ledger.session_count, 2);
    assert_true(h.faults[0].left_known);
    assert_true(h.faults[0].left_ns == s.ledger.start_ns + 9);
    assert_memory_equal(h.ledger.sessions, sessions, sizeof sessions);
    assert_int_equal(h.ledger.flushes[0].took_ns, 77);
    assert_string_equal(h.log.notes[0].text, "email is not the database's");
    assert_string_equal(h.log.processes[0].last_words, "oh|");
    assert_true(h.notes.interrupted);
    assert_int_equal(h.notes.reader_stalls.kept_count, 1000);
    assert_int_equal(h.notes.reader_stalls.kept[999].from_ns, 1000 * NS_PER_S);
    stalls_fini(&notes.reader_stalls);
    history_fini(&h);
    story_fini(&s);
}

static void changes_come_back(void **state)
{
    static struct story s;
    static struct history h;
    struct history_notes notes = {0};
    const struct change_record *record;
    struct err e = {0};

    (void)state;
    story_init(&s);
    story_good_token(&s);
    uint32_t token = story_txn(&s, 200, 1);
    story_change(&s, token, CHANGE_REACTIVATE, 300, 301)->back_sent_ns = 7;
    story_judge(&s);
    if (!history_write(path, &s.ledger, &s.load, &notes, &e) ||
        !history_read(&h, path, &s.scenario, &e))
        fail_msg("%s", e.text);
    const struct plan_change *change = ledger_change(&h.ledger, token, &record);
    assert_non_null(change);
    assert_int_equal(change->kind, CHANGE_REACTIVATE);
    assert_memory_equal(record, &s.changes[0], sizeof *record);
    assert_null(ledger_change(&h.ledger, 0, &record));
    history_fini(&h);
    story_fini(&s);
}

// A run without a line and without a delivery has a history all the same.
static void nothing_delivered_is_a_history(void **state)
{
    struct story s;
    struct history h = {0};
    struct err e = {0};

    (void)state;
    story_init(&s);
    story_txn(&s, 50, 5);
    story_judge(&s);
    struct subject_log log = s.log;
    s.log.deliveries = NULL;
    s.log.lines = NULL;
    assert_int_equal(s.log.line_count + s.log.delivery_count, 0);
    store(&s);
    s.log = log;
    assert_true(history_read(&h, path, &s.scenario, &e));
    history_fini(&h);
    story_fini(&s);
}

// A probe is always due at some time. CLOCK_NEVER as that time would spoil every sum.
static void a_time_that_cannot_be_is_refused(void **state)
{
    static struct story s;
    static struct history h;
    struct err e = {0};

    (void)state;
    tell(&s);
    s.probes[0].due_ns = CLOCK_NEVER;
    store(&s);
    assert_false(history_read(&h, path, &s.scenario, &e));
    assert_string_equal(e.text, "the history holds an impossible time");
    story_fini(&s);
}

static void cut_off_is_refused(void **state)
{
    static struct story s;
    static struct history h;
    unsigned char bytes[8192];

    (void)state;
    tell(&s);
    store(&s);
    size_t size = slurp(bytes, sizeof bytes);
    for (size_t cut = 0; cut < size; cut++) {
        struct err e = {0};
        spill(bytes, cut);
        assert_false(history_read(&h, path, &s.scenario, &e));
        assert_int_not_equal(e.text[0], 0);
    }
    story_fini(&s);
}

// The file is not compressed, so that every flipped bit reaches the reader.
static void damage_is_survived(void **state)
{
    static struct story s;
    static struct history h;
    unsigned char bytes[8192];
    struct rng rng;

    (void)state;
    tell(&s);
    store(&s);
    gzFile file = gzopen(path, "rb");
    int size = gzread(file, bytes, sizeof bytes);
    gzclose(file);
    assert_true(size > 0);
    rng_init(&rng, 1, 1);
    for (int i = 0; i < 5000; i++) {
        unsigned char damaged[8192];
        struct err e = {0};
        memcpy(damaged, bytes, (size_t)size);
        damaged[rng_below(&rng, (uint64_t)size)] ^= (unsigned char)(1u << rng_below(&rng, 8));
        spill(damaged, (size_t)size);
        if (history_read(&h, path, &s.scenario, &e))
            history_fini(&h);
    }
    story_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(round_trip, make_path, remove_path),
        cmocka_unit_test_setup_teardown(the_versions_before_are_read, make_path, remove_path),
        cmocka_unit_test_setup_teardown(changes_come_back, make_path, remove_path),
        cmocka_unit_test_setup_teardown(notes_come_back, make_path, remove_path),
        cmocka_unit_test_setup_teardown(nothing_delivered_is_a_history, make_path, remove_path),
        cmocka_unit_test_setup_teardown(a_time_that_cannot_be_is_refused, make_path, remove_path),
        cmocka_unit_test_setup_teardown(cut_off_is_refused, make_path, remove_path),
        cmocka_unit_test_setup_teardown(damage_is_survived, make_path, remove_path),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
