#include "disk/commands.h"

#include "disk/replay.h"

struct command {
    const char *name;
    int numbers;       // how many numbers follow the command's name
    bool needs_replay; // refused unless a replay runs
    bool (*run)(
        struct device *d, const uint64_t *numbers, char *answer, size_t size, struct err *e);
};

// Writes the device's counts into the answer. They are the evidence that a fault took effect.
static bool answer_counts(
    struct device *d, const uint64_t *numbers, char *answer, size_t size, struct err *e)
{
    (void)numbers;
    (void)e;
    snprintf(answer, size, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, d->counts.writes,
        d->counts.flushes, d->counts.delayed, d->counts.failed);
    return true;
}

// Carries out "counts". The answer ends with two numbers that are 1 or 0: whether the canary is in
// the cache, and whether the power is cut.
static bool answer_counts_and_power(
    struct device *d, const uint64_t *numbers, char *answer, size_t size, struct err *e)
{
    bool ok = answer_counts(d, numbers, answer, size, e);
    size_t len = strlen(answer);

    snprintf(
        answer + len, size - len, " %d %d", d->canary_in_cache[0] != '\0', d->power == POWER_DARK);
    return ok;
}

// Carries out "settle": makes all writes count as being on the platter, even those after the last
// flush. The harness has flushed the file system before.
static bool settle_cache(
    struct device *d, const uint64_t *numbers, char *answer, size_t size, struct err *e)
{
    device_empty_cache(d);
    return answer_counts(d, numbers, answer, size, e);
}

// Carries out "lie": from now on, flushes are answered and not carried out. The cache still evicts
// the writes for which it has no room.
static bool ignore_flushes(
    struct device *d, const uint64_t *numbers, char *answer, size_t size, struct err *e)
{
    d->flushing = FLUSHING_LIES;
    return answer_counts(d, numbers, answer, size, e);
}

// Carries out "flush-takes": makes each flush take this many nanoseconds; 0: no delay.
static bool set_flush_delay(
    struct device *d, const uint64_t *numbers, char *answer, size_t size, struct err *e)
{
    d->flush_takes_ns = (int64_t)numbers[0];
    return answer_counts(d, numbers, answer, size, e);
}

// Carries out "fail-flush": the flush with this number, 1 for the next one, fails; 0: none fails.
static bool set_failing_flush(
    struct device *d, const uint64_t *numbers, char *answer, size_t size, struct err *e)
{
    d->fail_in = numbers[0];
    return answer_counts(d, numbers, answer, size, e);
}

// Carries out "off": the machine whose power was cut is gone, so what it still sends is answered
// and ignored.
static bool switch_off(
    struct device *d, const uint64_t *numbers, char *answer, size_t size, struct err *e)
{
    // Only device_write cuts the power. "off" without a cut would be a cut at a moment when nothing
    // is written.
    if (d->power == POWER_ON)
        return err_set(e, ERR_SYSTEM, "the power was not cut");
    d->power = POWER_OFF;
    return answer_counts(d, numbers, answer, size, e);
}

static void write_cut_numbers(const struct cache_cut *left, char *answer, size_t size)
{
    snprintf(
        answer, size, "%" PRIu64 " %" PRIu64 " %" PRIu64, left->writes, left->sectors, left->kept);
}

// Carries out "on": brings the machine back after a cut.
static bool switch_on(
    struct device *d, const uint64_t *numbers, char *answer, size_t size, struct err *e)
{
    struct cache_cut left;

    (void)numbers;
    if (!device_power_on(d, &left, e))
        return false;
    write_cut_numbers(&left, answer, size);
    return true;
}

static bool start_recording(
    struct device *d, const uint64_t *numbers, char *answer, size_t size, struct err *e)
{
    return device_record(d, e) && answer_counts(d, numbers, answer, size, e);
}

static bool end_recording(
    struct device *d, const uint64_t *numbers, char *answer, size_t size, struct err *e)
{
    return device_end_record(d, e) && answer_counts(d, numbers, answer, size, e);
}

// Carries out "replay": puts the disk back to the beginning of the recording. Answers the number of
// flushes in the recording.
static bool start_replay(
    struct device *d, const uint64_t *numbers, char *answer, size_t size, struct err *e)
{
    uint64_t flushes;

    (void)numbers;
    if (!replay_begin(d, &flushes, e))
        return false;
    snprintf(answer, size, "%" PRIu64, flushes);
    return true;
}

// Carries out "state": puts the disk into the state of a cut at the flush with the first number;
// the second is the seed. The answer ends with the time at which that flush was answered.
static bool put_state(
    struct device *d, const uint64_t *numbers, char *answer, size_t size, struct err *e)
{
    struct cache_cut left;
    int64_t at_ns = 0;

    if (!replay_state(d, numbers[0], numbers[1], &left, &at_ns, e))
        return false;
    write_cut_numbers(&left, answer, size);
    size_t len = strlen(answer);
    snprintf(answer + len, size - len, " %" PRId64, at_ns);
    return true;
}

// Carries out "trial": answers how many flushes came since the last "state", without those that had
// nothing to flush.
static bool answer_trial_flushes(
    struct device *d, const uint64_t *numbers, char *answer, size_t size, struct err *e)
{
    (void)numbers;
    (void)e;
    snprintf(answer, size, "%" PRIu64, replay_trial_flushes(d->replay));
    return true;
}

// Carries out "again": cuts the power a second time, at a flush that came since "state". The
// numbers are that flush, counted from 1, and the seed.
static bool cut_again(
    struct device *d, const uint64_t *numbers, char *answer, size_t size, struct err *e)
{
    struct cache_cut left;

    if (!replay_again(d, numbers[0], numbers[1], &left, e))
        return false;
    write_cut_numbers(&left, answer, size);
    return true;
}

static const struct command commands[] = {
    {"counts", .run = answer_counts_and_power},
    {"settle", .run = settle_cache},
    {"lie", .run = ignore_flushes},
    {"flush-takes", .numbers = 1, .run = set_flush_delay},
    {"fail-flush", .numbers = 1, .run = set_failing_flush},
    {"off", .run = switch_off},
    {"on", .run = switch_on},
    {"record", .run = start_recording},
    {"end-record", .run = end_recording},
    {"replay", .run = start_replay},
    {"state", .numbers = 2, .needs_replay = true, .run = put_state},
    {"trial", .needs_replay = true, .run = answer_trial_flushes},
    {"again", .numbers = 2, .needs_replay = true, .run = cut_again},
};

static const struct command *find_command(const char *line, size_t length)
{
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (strlen(commands[i].name) == length && memcmp(commands[i].name, line, length) == 0)
            return &commands[i];
    }
    return NULL;
}

// Parses " N N…". False unless there are exactly `count` numbers.
static bool parse_command_numbers(const char *text, uint64_t *numbers, int count)
{
    for (int i = 0; i < count; i++) {
        char *end;
        if (*text++ != ' ')
            return false;
        numbers[i] = strtoull(text, &end, 10);
        if (end == text)
            return false;
        text = end;
    }
    return *text == '\0';
}

// Carries out "arm SEED SECTORS WORD CANARY", the only command with words among its arguments: the
// power goes when the cache has the write that ends with CANARY, and SECTORS sectors with WORD.
static bool arm_power_cut(struct device *d, const char *text, struct err *e)
{
    char word[DEVICE_WORD_BYTES + 1];
    char canary[DEVICE_CANARY_BYTES + 2]; // has room for one character too many, which is refused
    uint64_t seed, least;

    if (sscanf(text, "%" SCNu64 " %" SCNu64 " %16s %33s", &seed, &least, word, canary) != 4 ||
        strlen(canary) != DEVICE_CANARY_BYTES)
        return err_set(e, ERR_USAGE,
            "arm takes a seed, a number of sectors, a word and %u characters", DEVICE_CANARY_BYTES);
    device_arm(d, canary, seed, least, word);
    return true;
}

// Carries out a line. Fills `answer` with what follows "ok", or `e` with what follows "error".
static bool run_command(
    struct device *d, const char *line, char *answer, size_t size, struct err *e)
{
    uint64_t numbers[2] = {0};
    size_t length = strcspn(line, " ");
    const struct command *command = find_command(line, length);

    // The commands of the table take only numbers. One command with words does not justify a type
    // for arguments.
    if (strncmp(line, "arm ", 4) == 0)
        return arm_power_cut(d, line + 4, e);
    if (!command || !parse_command_numbers(line + length, numbers, command->numbers))
        return err_set(e, ERR_USAGE, "no such command: %s", line);
    if (command->needs_replay && !d->replay)
        return err_set(e, ERR_USAGE, "there is no replay");
    return command->run(d, numbers, answer, size, e);
}

void commands_run(struct device *d, const char *line, char *answer, size_t size)
{
    char said[CONTROL_LINE_MAX - sizeof "ok "] = "";
    struct err e;

    if (run_command(d, line, said, sizeof said, &e))
        snprintf(answer, size, "ok %s", said);
    else
        snprintf(answer, size, "error %.200s", e.text);
}
