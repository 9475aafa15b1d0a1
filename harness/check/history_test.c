// A stored history reads back as it was. The reader refuses a file that was cut off, and survives
// any other damage.
#include <sys/mman.h>
#include <zlib.h>

#include "base/unit.h"
#include "ledger/history.h"
#include "plan/rng.h"
#include "story/story.h"

static int memory_fd; // the file is in memory, because thousands are written
static char path[64];

static int make_path(void **state)
{
    memory_fd = memfd_create("history", MFD_CLOEXEC);
    snprintf(path, sizeof path, "/proc/self/fd/%d", memory_fd);
    return memory_fd < 0 ? -1 : 0;
}

static int remove_path(void **state)
{
    return close(memory_fd);
}

// A story with a bit of everything.
#define STORY                                                                                      \
    "load refused 1\n"                                                                             \
    "process 0 until 400 killed\n"                                                                 \
    "process 1 from 500\n"                                                                         \
    "token 0-4 at 50\n"                                                                            \
    "token 5-6 at 160 unknown\n"                                                                   \
    "token 7 unsent\n"                                                                             \
    "line at 151: 2-3\n"                                                                           \
    "fault {do: kill-collector} struck 400 undone 401\n"                                           \
    "line at 600: 2-3 4 forged\n"                                                                  \
    "line at 700 torn: 0 named\n"                                                                  \
    "sample at -1000 rss 9000 cpu 7 wakeups 3 starved 0.011\n"                                     \
    "look at -1000 busy 0.001\n"                                                                   \
    "look at -1000 waited 0.005 busy 0\n"                                                          \
    "probe at -1000 took 0.012345\n"                                                               \
    "probe at -1000 took never\n"                                                                  \
    "row 1-7 unread\n"                                                                             \
    "attempt 0 number 1 lost\n"                                                                    \
    "attempt 1 number 2 lost\n"                                                                    \
    "attempt 2 number 3 lost\n"

// Makes a history from a story. A story cannot say why the server refused a transaction, so a
// reason is added.
static void tell(struct story *t, const char *text)
{
    struct err e = {0};

    if (!story_read_text(t, text, "test", &e))
        fail_msg("%s", e.text);
    snprintf(t->history.load.refusal, sizeof t->history.load.refusal, "%s",
        t->history.load.refused ? "no" : "");
}

static void judge(struct result *r, const struct history *h)
{
    struct check_input in = check_input_of(h);

    check_ledger(r, &h->ledger, &in);
}

static void store(const struct story *t)
{
    const struct history *h = &t->history;
    struct err e = {0};

    if (!history_write(path, &h->ledger, &h->load, &h->notes, &e))
        fail_msg("%s", e.text);
}

// Stores the story and reads it back.
static void store_and_read(const struct story *t, struct history *again)
{
    struct err e = {0};

    store(t);
    if (!history_read(again, path, &t->scenario, &e))
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
    static struct story t;
    static struct history h;
    struct result first, again;

    tell(&t, STORY);
    store_and_read(&t, &h);
    judge(&first, &t.history);
    judge(&again, &h);
    same_verdict(&first, &again);
    assert_string_equal(h.load.refusal, "no");
    assert_int_equal(h.log.samples[0].starved_us, 11);
    assert_int_equal(h.ledger.starved_count, 2);
    assert_memory_equal(h.ledger.starved, t.history.starved, 2 * sizeof *h.ledger.starved);
    assert_int_equal(h.ledger.attempt_count, 3);
    assert_int_not_equal(h.ledger.tokens[0].row, 0);
    for (uint32_t i = 0; i < h.plan.token_count; i++)
        assert_int_equal(h.ledger.tokens[i].row, t.history.ledger.tokens[i].row);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(h.ledger.attempts[i].token, i);
        assert_int_equal(h.ledger.attempts[i].number, i + 1);
        assert_int_equal(h.ledger.attempts[i].end, ATTEMPT_LOST);
    }
    result_fini(&first);
    result_fini(&again);
    history_fini(&h);
    story_fini(&t);
}

// Reads the stored file. Returns its length, at most `size`.
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

static void expect_read(const struct story *t, uint64_t starved_us)
{
    static struct history h;
    struct err e = {0};

    if (!history_read(&h, path, &t->scenario, &e))
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
    static struct story t;
    static struct history h;
    unsigned char bytes[8192];
    struct err e = {0};

    tell(&t, STORY);
    store(&t);
    gzFile file = gzopen(path, "rb");
    size_t size = (size_t)gzread(file, bytes, sizeof bytes);
    gzclose(file);
    unsigned char *version = (unsigned char *)memmem(bytes, size, "mailproof", 9) + 9;
    // The fields that each version added stand just before the end.
    const struct {
        unsigned char version;
        size_t bytes;
    } added[] = {
        {18, t.history.log.delivery_count}, // whether names were those from before a change
        {17, 2},                            // the counts of the only sample
        {16, 2}, // the counts that say that there are no looks and no holds
        {15, 1}, // what the logs hold
        {14, 2}, // what a process left: a byte for each of the two
        {13, t.history.plan.token_count +
                 1}, // a byte for each token, and one more for the only known row
        {12, 22},    // one time for each fault, and two for each line
        {11, 13},    // samples of waits: their count, and six bytes for each of the two
        {10, 1},     // the share of the processors that others used
        {9, 10},     // attempts: their count, and three bytes for each of the three
        {8, 3},      // the workers
        {7, 2 * t.history.plan.fault_count}, // what a failover left behind
        {6, t.history.log.delivery_count + 2 * t.history.plan.token_count}, // answers and outcomes
    };
    assert_int_equal(*version, HISTORY_VERSION);
    for (size_t i = 0; i < sizeof added / sizeof *added; i++) {
        assert_int_equal(*version, added[i].version);
        size = cut(bytes, size, bytes + size - end_bytes - added[i].bytes, added[i].bytes);
        *version = (unsigned char)(added[i].version - 1);
        spill(bytes, size);
        expect_read(&t, 11);
    }
    unsigned char *more = bytes + size - end_bytes - sizeof nothing_more;
    assert_memory_equal(more, nothing_more, sizeof nothing_more);
    size = cut(bytes, size, more + sizeof nothing_more - 1, 1);
    *version = 4;
    spill(bytes, size);
    expect_read(&t, 11);
    size = cut(bytes, size, more, sizeof nothing_more - 1);
    *version = 3;
    spill(bytes, size);
    expect_read(&t, 11);
    unsigned char *sample = memmem(bytes, size, numbers, sizeof numbers);
    assert_non_null(sample);
    size = cut(bytes, size, sample + 2, 1);
    *version = 2;
    spill(bytes, size);
    expect_read(&t, 0);
    *version = 1;
    spill(bytes, size);
    assert_false(history_read(&h, path, &t.scenario, &e));
    story_fini(&t);
}

// The fields that version 4 and later ones added.
static void notes_come_back(void **state)
{
    static struct story t;
    static struct history h;

    tell(&t, STORY "run interrupted\n"
                   "session at 0\n"
                   "session at 0.000007\n"
                   "flush at 0 took 0.000077\n"
                   "repeat 1000 every 1000: stall from 1000 until 1006\n");
    t.history.faults[0].left_known = true;
    t.history.faults[0].left_ns = t.history.ledger.start_ns + 9;
    subject_note(&t.history.log, 0, 0, "email is not the database's");
    strcpy(t.history.log.processes[0].last_words, "oh|");
    store_and_read(&t, &h);
    assert_int_equal(h.ledger.session_count, 2);
    assert_true(h.faults[0].left_known);
    assert_true(h.faults[0].left_ns == h.ledger.start_ns + 9);
    assert_memory_equal(h.ledger.sessions, t.history.ledger.sessions, 2 * sizeof *h.sessions);
    assert_int_equal(h.ledger.flushes[0].took_ns, 77);
    assert_string_equal(h.log.notes[0].text, "email is not the database's");
    assert_string_equal(h.log.processes[0].last_words, "oh|");
    assert_true(h.notes.interrupted);
    assert_int_equal(h.notes.reader_stalls.kept_count, 1000);
    assert_true(h.notes.reader_stalls.kept[999].from_ns == h.ledger.start_ns + 1000 * NS_PER_S);
    history_fini(&h);
    story_fini(&t);
}

static void changes_come_back(void **state)
{
    static struct story t;
    static struct history h;
    const struct change_record *record;

    tell(&t, "token 0 at 50\nline at 150: 0\ntoken 1 at 200\n"
             "change 1 reactivate at 300 back 307\n");
    store_and_read(&t, &h);
    const struct plan_change *change = ledger_change(&h.ledger, 1, &record);
    assert_non_null(change);
    assert_int_equal(change->kind, CHANGE_REACTIVATE);
    assert_true(record->back_sent_ns == h.ledger.start_ns + 307 * NS_PER_MS);
    assert_memory_equal(record, &t.history.load.changes[0], sizeof *record);
    assert_null(ledger_change(&h.ledger, 0, &record));
    history_fini(&h);
    story_fini(&t);
}

// A run without a line and without a delivery has a history all the same.
static void nothing_delivered_is_a_history(void **state)
{
    static struct story t;
    static struct history h;

    tell(&t, "token 0-4 at 50\n");
    assert_null(t.history.log.lines);
    assert_null(t.history.log.deliveries);
    store_and_read(&t, &h);
    history_fini(&h);
    story_fini(&t);
}

// A probe is always due at some time. CLOCK_NEVER as that time would spoil every sum.
static void a_time_that_cannot_be_is_refused(void **state)
{
    static struct story t;
    static struct history h;
    struct err e = {0};

    tell(&t, STORY);
    t.history.probes[0].due_ns = CLOCK_NEVER;
    store(&t);
    assert_false(history_read(&h, path, &t.scenario, &e));
    assert_string_equal(e.text, "the history holds an impossible time");
    story_fini(&t);
}

static void cut_off_is_refused(void **state)
{
    static struct story t;
    static struct history h;
    unsigned char bytes[8192];

    tell(&t, STORY);
    store(&t);
    size_t size = slurp(bytes, sizeof bytes);
    for (size_t cut = 0; cut < size; cut++) {
        struct err e = {0};
        spill(bytes, cut);
        assert_false(history_read(&h, path, &t.scenario, &e));
        assert_int_not_equal(e.text[0], 0);
    }
    story_fini(&t);
}

// The reader may refuse or accept a damaged file, but must not crash. The file is not compressed,
// so that every flipped bit reaches the reader.
static void damage_is_survived(void **state)
{
    static struct story t;
    static struct history h;
    unsigned char bytes[8192];
    struct rng rng;

    tell(&t, STORY);
    store(&t);
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
        if (history_read(&h, path, &t.scenario, &e))
            history_fini(&h);
    }
    story_fini(&t);
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
