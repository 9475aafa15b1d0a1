#include <fcntl.h>
#include <sys/stat.h>

#include "base/unit.h"
#include "disk/commands.h"
#include "disk/device.h"

#define SECTORS 64

// A disk of 64 sectors in a folder of its own. The tests fill each sector with one byte.
struct bench {
    char dir[64];
    struct device d;
};

static int make_bench(void **state)
{
    struct bench *b = calloc(1, sizeof *b);
    char path[128];
    struct err e;

    snprintf(b->dir, sizeof b->dir, "/tmp/disk_test.XXXXXX");
    assert_non_null(mkdtemp(b->dir));
    snprintf(path, sizeof path, "%s/" DEVICE_IMAGE, b->dir);
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_int_equal(ftruncate(fd, SECTORS * CACHE_SECTOR), 0);
    close(fd);
    b->d = (struct device)DEVICE_INIT;
    assert_true(device_open(&b->d, b->dir, &e));
    *state = b;
    return 0;
}

static int remove_bench(void **state)
{
    static const char *const names[] = {DEVICE_IMAGE, DEVICE_BASE, DEVICE_RECORD};
    struct bench *b = *state;
    char path[128];

    device_close(&b->d);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", b->dir, names[i]);
        unlink(path);
    }
    rmdir(b->dir);
    free(b);
    return 0;
}

static void put(struct device *d, unsigned sector, unsigned count, char byte)
{
    char data[SECTORS * CACHE_SECTOR];

    memset(data, byte, sizeof data);
    assert_int_equal(
        device_write(d, sector * CACHE_SECTOR, data, count * CACHE_SECTOR), DEVICE_DONE);
}

static void flush(struct device *d)
{
    int64_t due_ns;

    assert_int_equal(device_flush(d, 0, &due_ns), DEVICE_DONE);
}

// Returns the byte that fills the sector, and checks that all its bytes are this one: a sector is
// never torn.
static char get(struct device *d, unsigned sector)
{
    char data[CACHE_SECTOR];

    assert_true(device_read(d, sector * CACHE_SECTOR, data, sizeof data));
    for (size_t i = 1; i < sizeof data; i++)
        assert_int_equal(data[i], data[0]);
    return data[0];
}

static const char canary[] = "0123456789abcdef0123456789abcdef";

// Cuts the power with a write to the last sector.
static void cut(struct device *d, uint64_t seed)
{
    char data[CACHE_SECTOR];

    memset(data, 'c', sizeof data);
    for (size_t i = 0; i < DEVICE_CANARY_BYTES; i++)
        data[sizeof data - DEVICE_CANARY_BYTES + i] = canary[i];
    device_arm(d, canary, seed, 0, "");
    assert_int_equal(device_write(d, (SECTORS - 1) * CACHE_SECTOR, data, sizeof data), DEVICE_DONE);
    assert_int_equal(d->power, POWER_DARK);
}

static struct cache_cut power_on(struct device *d)
{
    struct cache_cut left;
    struct err e;

    assert_true(device_power_on(d, &left, &e));
    return left;
}

static void a_cut_keeps_what_was_flushed(void **state)
{
    struct bench *b = *state;

    for (uint64_t seed = 0; seed < 50; seed++) {
        put(&b->d, 0, 32, 'a');
        flush(&b->d);
        put(&b->d, 32, 16, 'b');
        cut(&b->d, seed);
        power_on(&b->d);
        for (unsigned s = 0; s < 32; s++)
            assert_int_equal(get(&b->d, s), 'a');
    }
}

static void a_cut_tears_what_was_not_flushed(void **state)
{
    struct bench *b = *state;
    unsigned kept = 0, none = 0, torn = 0;

    for (uint64_t seed = 0; seed < 50; seed++) {
        put(&b->d, 0, 16, 'o');
        flush(&b->d);
        put(&b->d, 0, 16, 'n');
        cut(&b->d, seed);
        struct cache_cut left = power_on(&b->d);
        assert_int_equal(left.writes, 2);
        assert_int_equal(left.sectors, 17);
        unsigned fresh = 0;
        for (unsigned s = 0; s < 16; s++)
            fresh += get(&b->d, s) == 'n';
        kept += fresh;
        none += fresh == 0;
        torn += fresh > 0 && fresh < 16;
    }
    // Cuts that keep all, none or a part of the cache each occur about as often as their shares
    // say.
    assert_in_range(kept, 200, 400);
    assert_in_range(none, 3, 30);
    assert_in_range(torn, 20, 47);
}

// A flush of other sectors does not save the earlier versions of this one. A cut may
// leave any of them.
static void any_version_since_the_flush_may_survive(void **state)
{
    struct bench *b = *state;
    unsigned seen['z'] = {0};

    for (uint64_t seed = 0; seed < 200; seed++) {
        put(&b->d, 3, 1, 'o');
        flush(&b->d);
        put(&b->d, 2, 3, 'p');
        put(&b->d, 3, 1, 'q');
        cut(&b->d, seed);
        power_on(&b->d);
        seen[(unsigned char)get(&b->d, 3)]++;
    }
    assert_true(seen['o'] > 20 && seen['p'] > 20 && seen['q'] > 20);
    assert_int_equal(seen['o'] + seen['p'] + seen['q'], 200);
}

static void the_same_seed_keeps_the_same(void **state)
{
    struct bench *b = *state;
    char first[32];

    for (int turn = 0; turn < 2; turn++) {
        put(&b->d, 0, 32, 'o');
        flush(&b->d);
        for (unsigned s = 0; s < 32; s++)
            put(&b->d, s, 1, 'n');
        cut(&b->d, 7);
        power_on(&b->d);
        for (unsigned s = 0; s < 32; s++) {
            if (turn == 0)
                first[s] = get(&b->d, s);
            assert_int_equal(get(&b->d, s), first[s]);
        }
    }
}

static void a_lying_disk_may_lose_what_was_flushed(void **state)
{
    struct bench *b = *state;
    unsigned lost = 0;

    b->d.flushing = FLUSHING_LIES;
    for (uint64_t seed = 0; seed < 20; seed++) {
        put(&b->d, 0, 16, 'o');
        cut(&b->d, seed);
        power_on(&b->d);
        put(&b->d, 0, 16, 'n');
        flush(&b->d);
        cut(&b->d, seed + 1000);
        power_on(&b->d);
        for (unsigned s = 0; s < 16; s++)
            lost += get(&b->d, s) != 'n';
    }
    assert_true(lost > 30);
}

static void in_the_dark_nothing_is_taken(void **state)
{
    struct bench *b = *state;
    char data[CACHE_SECTOR] = "";
    int64_t due_ns;

    put(&b->d, 0, 1, 'a');
    flush(&b->d);
    cut(&b->d, 1);
    assert_int_equal(device_write(&b->d, 0, data, sizeof data), DEVICE_HELD);
    assert_int_equal(device_flush(&b->d, 0, &due_ns), DEVICE_HELD);
    b->d.power = POWER_OFF;
    assert_int_equal(device_write(&b->d, 0, data, sizeof data), DEVICE_DONE);
    power_on(&b->d);
    assert_int_equal(get(&b->d, 0), 'a');
}

static void half_a_sector_is_refused(void **state)
{
    struct bench *b = *state;
    char data[CACHE_SECTOR] = "";

    assert_int_equal(device_write(&b->d, 0, data, 100), DEVICE_FAILED);
    assert_int_equal(device_write(&b->d, 100, data, sizeof data), DEVICE_FAILED);
    assert_int_equal(device_write(&b->d, SECTORS * CACHE_SECTOR, data, sizeof data), DEVICE_FAILED);
}

static void expect_answer(struct device *d, const char *line, const char *want)
{
    char answer[CONTROL_LINE_MAX];

    commands_run(d, line, answer, sizeof answer);
    assert_string_equal(answer, want);
}

static void a_flush_takes_its_time_or_fails(void **state)
{
    struct bench *b = *state;
    int64_t due_ns = 0;

    expect_answer(&b->d, "flush-takes 500", "ok 0 0 0 0");
    assert_int_equal(device_flush(&b->d, 1000, &due_ns), DEVICE_LATER);
    assert_int_equal(due_ns, 1500);
    expect_answer(&b->d, "flush-takes 0", "ok 0 1 1 0");
    expect_answer(&b->d, "fail-flush 2", "ok 0 1 1 0");
    put(&b->d, 0, 1, 'o');
    flush(&b->d);
    put(&b->d, 0, 1, 'n');
    assert_int_equal(device_flush(&b->d, 0, &due_ns), DEVICE_FAILED);
    expect_answer(&b->d, "counts", "ok 2 3 1 1 0 0");
    // The write is still in doubt after the failed flush; the next flush makes it durable.
    assert_int_equal(b->d.cache.count, 1);
    flush(&b->d);
    assert_int_equal(b->d.cache.count, 0);
}

static void write_canary(struct device *d)
{
    char data[CACHE_SECTOR] = {0};

    memcpy(data + sizeof data - DEVICE_CANARY_BYTES, canary, DEVICE_CANARY_BYTES);
    assert_int_equal(device_write(d, (SECTORS - 1) * CACHE_SECTOR, data, sizeof data), DEVICE_DONE);
}

static void a_cut_waits_until_enough_is_in_the_cache(void **state)
{
    struct bench *b = *state;

    device_arm(&b->d, canary, 0, 8, "bbbb");
    put(&b->d, 0, 7, 'b');
    write_canary(&b->d);
    // A flush takes the canary and what came before it away. Other sectors do not count.
    flush(&b->d);
    put(&b->d, 0, 16, 'b');
    flush(&b->d);
    expect_answer(&b->d, "counts", "ok 3 2 0 0 0 0");
    device_arm(&b->d, canary, 0, 8, "bbbb");
    write_canary(&b->d);
    put(&b->d, 8, 16, 'c');
    put(&b->d, 0, 7, 'b');
    expect_answer(&b->d, "counts", "ok 6 2 0 0 1 0");
    put(&b->d, 7, 1, 'b');
    expect_answer(&b->d, "counts", "ok 7 2 0 0 1 1");
}

// A cut counts only the sectors that are in the cache and contain its own word.
static void a_new_cut_counts_anew(void **state)
{
    struct bench *b = *state;

    device_arm(&b->d, canary, 0, 8, "bbbb");
    put(&b->d, 0, 16, 'b');
    device_arm(&b->d, canary, 0, 8, "cccc");
    write_canary(&b->d);
    assert_int_equal(b->d.power, POWER_ON);
    device_arm(&b->d, canary, 0, 8, "bbbb");
    expect_answer(&b->d, "settle", "ok 2 0 0 0");
    write_canary(&b->d);
    assert_int_equal(b->d.power, POWER_ON);
    // Sectors that came before the device was armed count, too.
    put(&b->d, 0, 8, 'c');
    device_arm(&b->d, canary, 0, 8, "cccc");
    write_canary(&b->d);
    assert_int_equal(b->d.power, POWER_DARK);
}

// The cache has room for 64 MB. Later writes put the oldest ones onto the platter, so a cut does
// not count them any more.
static void a_cut_counts_nothing_that_was_evicted(void **state)
{
    struct bench *b = *state;

    device_arm(&b->d, canary, 0, 8, "bbbb");
    put(&b->d, 0, 4, 'b');
    write_canary(&b->d);
    expect_answer(&b->d, "counts", "ok 2 0 0 0 1 0");
    // This takes all the room, so the sectors and the canary leave the cache.
    for (unsigned i = 0; i < (64u << 20) / (SECTORS * CACHE_SECTOR); i++)
        put(&b->d, 0, SECTORS, 'c');
    expect_answer(&b->d, "counts", "ok 2050 0 0 0 0 0");
    // Without the four that are evicted, there are too few sectors until four more come.
    device_arm(&b->d, canary, 0, 8, "bbbb");
    put(&b->d, 0, 4, 'b');
    for (unsigned i = 0; i < (64u << 20) / (SECTORS * CACHE_SECTOR); i++)
        put(&b->d, 0, SECTORS, 'c');
    write_canary(&b->d);
    put(&b->d, 0, 4, 'b');
    assert_int_equal(b->d.power, POWER_ON);
    put(&b->d, 4, 4, 'b');
    assert_int_equal(b->d.power, POWER_DARK);
}

// A write that fails at the image is in the cache all the same. Its sector is counted, so the count
// is right again when the write is evicted.
static void a_cut_counts_a_write_that_failed_once(void **state)
{
    struct bench *b = *state;
    char data[CACHE_SECTOR];
    int image = b->d.image;

    device_arm(&b->d, canary, 0, 8, "bbbb");
    memset(data, 'b', sizeof data);
    b->d.image = openat(b->d.dir, DEVICE_IMAGE, O_RDONLY);
    assert_int_equal(device_write(&b->d, 0, data, sizeof data), DEVICE_FAILED);
    close(b->d.image);
    b->d.image = image;
    for (unsigned i = 0; i < (64u << 20) / (SECTORS * CACHE_SECTOR); i++)
        put(&b->d, 0, SECTORS, 'c');
    write_canary(&b->d);
    put(&b->d, 0, 7, 'b');
    assert_int_equal(b->d.power, POWER_ON);
    put(&b->d, 7, 1, 'b');
    assert_int_equal(b->d.power, POWER_DARK);
}

static void nonsense_is_refused(void **state)
{
    struct bench *b = *state;

    expect_answer(&b->d, "", "error no such command: ");
    expect_answer(&b->d, "count", "error no such command: count");
    expect_answer(&b->d, "fail-flush", "error no such command: fail-flush");
    expect_answer(&b->d, "fail-flush many", "error no such command: fail-flush many");
    expect_answer(&b->d, "arm 1 2 short",
        "error arm takes a seed, a number of sectors, a word and 32 characters");
    expect_answer(&b->d, "state 1 1", "error there is no replay");
    expect_answer(&b->d, "off", "error the power was not cut");
}

// A recording of three intervals. Sector 0 gets a, b and c, each of them flushed; sectors 1 to 16
// are written in the second interval. The writes of a trial are gone in the next state.
static void a_replay_goes_through_all_states(void **state)
{
    struct bench *b = *state;
    char answer[CONTROL_LINE_MAX];

    put(&b->d, 0, 17, 'o');
    expect_answer(&b->d, "settle", "ok 1 0 0 0");
    expect_answer(&b->d, "record", "ok 1 0 0 0");
    put(&b->d, 0, 1, 'a');
    flush(&b->d);
    put(&b->d, 0, 17, 'b');
    flush(&b->d);
    put(&b->d, 0, 1, 'c');
    expect_answer(&b->d, "end-record", "ok 4 2 0 0");
    put(&b->d, 0, 17, 'z');
    flush(&b->d);
    expect_answer(&b->d, "replay", "ok 3");
    for (unsigned n = 1; n <= 3; n++) {
        char line[40], before = "-oab"[n], after = "-abc"[n];
        snprintf(line, sizeof line, "state %u 2", n);
        commands_run(&b->d, line, answer, sizeof answer);
        assert_memory_equal(answer, "ok 1 ", 5);
        assert_true(get(&b->d, 0) == before || get(&b->d, 0) == after);
        unsigned fresh = 0;
        for (unsigned s = 1; s < 17; s++)
            fresh += get(&b->d, s) == 'b';
        assert_true(n == 1 ? fresh == 0 : n == 3 ? fresh == 16 : fresh <= 16);
        put(&b->d, 0, 30, 'x');
        flush(&b->d);
    }
    expect_answer(&b->d, "state 3 2", "error the states of a replay only go forward");
    expect_answer(&b->d, "state 4 2", "error the disk's record has no such flush");
}

// The power is cut during a trial. The writes that the trial flushed before the cut stay, its later
// ones are in doubt, and those after the cut are gone.
static void a_trial_can_be_cut_as_well(void **state)
{
    struct bench *b = *state;
    char answer[CONTROL_LINE_MAX];
    unsigned torn = 0;

    expect_answer(&b->d, "again 1 1", "error there is no replay");
    put(&b->d, 0, 32, 'o');
    flush(&b->d);
    expect_answer(&b->d, "record", "ok 1 1 0 0");
    for (unsigned i = 0; i < 20; i++)
        flush(&b->d);
    expect_answer(&b->d, "end-record", "ok 1 21 0 0");
    expect_answer(&b->d, "replay", "ok 21");
    for (unsigned n = 1; n <= 20; n++) {
        char line[40];
        unsigned fresh = 0;
        snprintf(line, sizeof line, "state %u 1", n);
        commands_run(&b->d, line, answer, sizeof answer);
        assert_int_equal(get(&b->d, 20), 'o');
        put(&b->d, 0, 16, 'a');
        flush(&b->d);
        flush(&b->d);
        put(&b->d, 16, 16, 'b');
        flush(&b->d);
        put(&b->d, 0, 32, 'c');
        flush(&b->d);
        put(&b->d, 0, 32, 'd');
        expect_answer(&b->d, "trial", "ok 3");
        expect_answer(&b->d, "again 4 1", "error the trial has not flushed that often");
        snprintf(line, sizeof line, "again 2 %u", n);
        commands_run(&b->d, line, answer, sizeof answer);
        assert_memory_equal(answer, "ok 1 16 ", 8);
        for (unsigned s = 0; s < 16; s++) {
            assert_int_equal(get(&b->d, s), 'a');
            assert_true(get(&b->d, 16 + s) == 'o' || get(&b->d, 16 + s) == 'b');
            fresh += get(&b->d, 16 + s) == 'b';
        }
        torn += fresh > 0 && fresh < 16;
        put(&b->d, 0, 1, 'e');
        expect_answer(&b->d, "again 1 1", "error the trial has not flushed that often");
    }
    assert_in_range(torn, 5, 18);
}

// Without a recording, a replay does not begin, and the disk works as before.
static void a_replay_needs_a_recording(void **state)
{
    struct bench *b = *state;

    put(&b->d, 0, 1, 'o');
    expect_answer(
        &b->d, "replay", "error cannot open the disk's record: No such file or directory");
    expect_answer(&b->d, "state 1 1", "error there is no replay");
    assert_int_equal(b->d.cache.count, 1);
}

// The recording begins while a write is in the cache, so that write is not safe yet.
static void a_recording_begins_with_what_was_flushed(void **state)
{
    struct bench *b = *state;
    unsigned old = 0;

    put(&b->d, 0, 16, 'o');
    flush(&b->d);
    put(&b->d, 0, 16, 'n');
    expect_answer(&b->d, "record", "ok 2 1 0 0");
    expect_answer(&b->d, "end-record", "ok 2 1 0 0");
    expect_answer(&b->d, "replay", "ok 1");
    char answer[CONTROL_LINE_MAX];
    commands_run(&b->d, "state 1 3", answer, sizeof answer);
    for (unsigned s = 0; s < 16; s++)
        old += get(&b->d, s) == 'o';
    assert_true(old > 0);
}

// The first record is closed, which valgrind and the sanitizers see, and the second one begins with
// an empty file.
static void a_second_recording_replaces_the_first(void **state)
{
    struct bench *b = *state;

    expect_answer(&b->d, "record", "ok 0 0 0 0");
    int first = fileno(b->d.record);
    put(&b->d, 0, 1, 'a');
    flush(&b->d);
    expect_answer(&b->d, "record", "ok 1 1 0 0");
    assert_int_equal(fileno(b->d.record), first); // the number is free again
    put(&b->d, 0, 1, 'b');
    flush(&b->d);
    expect_answer(&b->d, "end-record", "ok 2 2 0 0");
    expect_answer(&b->d, "replay", "ok 2");
}

// A replay begins with an empty cache, so the canary that was in it cuts nothing any more.
static void a_replay_forgets_the_armed_cut(void **state)
{
    struct bench *b = *state;

    expect_answer(&b->d, "record", "ok 0 0 0 0");
    device_arm(&b->d, canary, 0, 8, "bbbb");
    write_canary(&b->d);
    expect_answer(&b->d, "end-record", "ok 1 0 0 0");
    expect_answer(&b->d, "replay", "ok 1");
    put(&b->d, 0, 16, 'b');
    expect_answer(&b->d, "counts", "ok 2 0 0 0 0 0");
}

// The error is that of the write that failed, not one that an earlier call left behind.
static void the_end_of_a_recording_says_what_failed(void **state)
{
    struct bench *b = *state;

    errno = EISDIR;
    expect_answer(&b->d, "end-record", "error there is no recording");
    expect_answer(&b->d, "record", "ok 0 0 0 0");
    fclose(b->d.record);
    b->d.record = fopen("/dev/full", "w");
    setvbuf(b->d.record, NULL, _IONBF, 0);
    expect_answer(
        &b->d, "end-record", "error cannot write the disk's record: No space left on device");
    assert_null(b->d.record);
}

// A folder has the place of the base. Nothing is recorded then.
static void a_recording_without_a_base_does_not_begin(void **state)
{
    struct bench *b = *state;
    char path[128];

    snprintf(path, sizeof path, "%s/" DEVICE_BASE, b->dir);
    assert_int_equal(mkdir(path, 0700), 0);
    expect_answer(&b->d, "record", "error cannot copy the disk's image: Is a directory");
    assert_null(b->d.record);
    assert_int_equal(rmdir(path), 0);
}

#define WITH_BENCH(test) cmocka_unit_test_setup_teardown(test, make_bench, remove_bench)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_BENCH(a_cut_keeps_what_was_flushed),
        WITH_BENCH(a_cut_waits_until_enough_is_in_the_cache),
        WITH_BENCH(a_cut_tears_what_was_not_flushed),
        WITH_BENCH(a_new_cut_counts_anew),
        WITH_BENCH(a_cut_counts_nothing_that_was_evicted),
        WITH_BENCH(a_cut_counts_a_write_that_failed_once),
        WITH_BENCH(any_version_since_the_flush_may_survive),
        WITH_BENCH(the_same_seed_keeps_the_same),
        WITH_BENCH(a_lying_disk_may_lose_what_was_flushed),
        WITH_BENCH(in_the_dark_nothing_is_taken),
        WITH_BENCH(half_a_sector_is_refused),
        WITH_BENCH(a_flush_takes_its_time_or_fails),
        WITH_BENCH(nonsense_is_refused),
        WITH_BENCH(a_replay_goes_through_all_states),
        WITH_BENCH(a_trial_can_be_cut_as_well),
        WITH_BENCH(a_replay_needs_a_recording),
        WITH_BENCH(a_recording_begins_with_what_was_flushed),
        WITH_BENCH(a_recording_without_a_base_does_not_begin),
        WITH_BENCH(a_second_recording_replaces_the_first),
        WITH_BENCH(a_replay_forgets_the_armed_cut),
        WITH_BENCH(the_end_of_a_recording_says_what_failed),
    };

    return cmocka_run_group_tests_name("harness.disk", tests, NULL, NULL);
}
