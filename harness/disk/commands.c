#include "disk/commands.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "disk/replay.h"

struct command {
    const char *name;
    int numbers; // how many numbers follow the command's name
    bool (*run)(
        struct device *d, const uint64_t *numbers, char *answer, size_t size, struct err *e);
};

// Answers with the device's counts, which are the evidence that a fault took effect.
static bool tell_counts(
    struct device *d, const uint64_t *numbers, char *answer, size_t size, struct err *e)
{
    (void)numbers;
    (void)e;
    snprintf(answer, size, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, d->counts.writes,
        d->counts.flushes, d->counts.delayed, d->counts.failed);
    return true;
}

// Answers with the counts, with 1 if the canary is in the cache, and with 1 if the power is cut.
static bool tell_power(
    struct device *d, const uint64_t *numbers, char *answer, size_t size, struct err *e)
{
    bool ok = tell_counts(d, numbers, answer, size, e);
    size_t len = strlen(answer);

    snprintf(answer + len, size - len, " %d %d", d->holds_canary, d->power == POWER_DARK);
    return ok;
}

// Makes all writes count as being on the platter, even those after the last flush. The harness has
// flushed the file system before.
static bool settle_device(
    struct device *d, const uint64_t *numbers, char *answer, size_t size, struct err *e)
{
    device_settle(d);
    return tell_counts(d, numbers, answer, size, e);
}

static bool begin_lying(
    struct device *d, const uint64_t *numbers, char *answer, size_t size, struct err *e)
{
    // From now on, flushes are answered and not carried out. Writes leave the cache only when it
    // has no room for them.
    d->flushing = FLUSHING_LIES;
    return tell_counts(d, numbers, answer, size, e);
}

static bool take_time(
    struct device *d, const uint64_t *numbers, char *answer, size_t size, struct err *e)
{
    d->flush_takes_ns = (int64_t)numbers[0];
    return tell_counts(d, numbers, answer, size, e);
}

static bool set_fail_in(
    struct device *d, const uint64_t *numbers, char *answer, size_t size, struct err *e)
{
    d->fail_in = numbers[0];
    return tell_counts(d, numbers, answer, size, e);
}

static bool switch_off(
    struct device *d, const uint64_t *numbers, char *answer, size_t size, struct err *e)
{
    // The power must have gone when the canary was written. Otherwise the cut would not come in the
    // midst of writing.
    if (d->power == POWER_ON)
        return err_set(e, ERR_SYSTEM, "the power was not cut");
    d->power = POWER_OFF;
    return tell_counts(d, numbers, answer, size, e);
}

static void tell_cut(const struct cache_cut *left, char *answer, size_t size)
{
    snprintf(
        answer, size, "%" PRIu64 " %" PRIu64 " %" PRIu64, left->writes, left->sectors, left->kept);
}

static bool switch_on(
    struct device *d, const uint64_t *numbers, char *answer, size_t size, struct err *e)
{
    struct cache_cut left;

    (void)numbers;
    if (!device_power_on(d, &left, e))
        return false;
    tell_cut(&left, answer, size);
    return true;
}

static bool start_record(
    struct device *d, const uint64_t *numbers, char *answer, size_t size, struct err *e)
{
    return device_record(d, e) && tell_counts(d, numbers, answer, size, e);
}

static bool end_journal(
    struct device *d, const uint64_t *numbers, char *answer, size_t size, struct err *e)
{
    return device_end_record(d, e) && tell_counts(d, numbers, answer, size, e);
}

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

static bool put_state(
    struct device *d, const uint64_t *numbers, char *answer, size_t size, struct err *e)
{
    struct cache_cut left;
    int64_t at_ns = 0;

    if (!d->replay)
        return err_set(e, ERR_USAGE, "there is no replay");
    if (!replay_state(d, numbers[0], numbers[1], &left, &at_ns, e))
        return false;
    tell_cut(&left, answer, size);
    size_t len = strlen(answer);
    snprintf(answer + len, size - len, " %" PRId64, at_ns);
    return true;
}

static bool tell_trial(
    struct device *d, const uint64_t *numbers, char *answer, size_t size, struct err *e)
{
    (void)numbers;
    if (!d->replay)
        return err_set(e, ERR_USAGE, "there is no replay");
    snprintf(answer, size, "%" PRIu64, replay_trial_flushes(d->replay));
    return true;
}

static bool cut_again(
    struct device *d, const uint64_t *numbers, char *answer, size_t size, struct err *e)
{
    struct cache_cut left;

    if (!d->replay)
        return err_set(e, ERR_USAGE, "there is no replay");
    if (!replay_again(d, numbers[0], numbers[1], &left, e))
        return false;
    tell_cut(&left, answer, size);
    return true;
}

static const struct command commands[] = {
    {"counts", 0, tell_power},
    {"settle", 0, settle_device},
    {"lie", 0, begin_lying},
    {"flush-takes", 1, take_time},
    {"fail-flush", 1, set_fail_in},
    {"off", 0, switch_off},
    {"on", 0, switch_on},
    {"record", 0, start_record},
    {"end-record", 0, end_journal},
    {"replay", 0, start_replay},
    {"state", 2, put_state},
    {"trial", 0, tell_trial},
    {"again", 2, cut_again},
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

// Carries out "arm SEED SECTORS WORD CANARY", the only command with words among its arguments.
static bool arm_crash(struct device *d, const char *text, struct err *e)
{
    char word[DEVICE_WORD_BYTES + 1], canary[DEVICE_CANARY_BYTES + 2];
    uint64_t seed, least;

    if (sscanf(text, "%" SCNu64 " %" SCNu64 " %16s %33s", &seed, &least, word, canary) != 4 ||
        strlen(canary) != DEVICE_CANARY_BYTES)
        return err_set(e, ERR_USAGE,
            "arm takes a seed, a number of sectors, a word and %u characters", DEVICE_CANARY_BYTES);
    device_arm(d, canary, seed, least, word);
    return true;
}

static bool run_command(
    struct device *d, const char *line, char *answer, size_t size, struct err *e)
{
    uint64_t numbers[2] = {0};
    size_t length = strcspn(line, " ");
    const struct command *command = find_command(line, length);

    // The commands of the table take only numbers. One command with words does not justify a type
    // for arguments.
    if (strncmp(line, "arm ", 4) == 0)
        return arm_crash(d, line + 4, e);
    if (!command || !parse_command_numbers(line + length, numbers, command->numbers))
        return err_set(e, ERR_USAGE, "no such command: %s", line);
    return command->run(d, numbers, answer, size, e);
}

void commands_run(struct device *d, const char *line, char *answer, size_t size)
{
    char said[CONTROL_LINE_MAX - 8] = "";
    struct err e;

    if (run_command(d, line, said, sizeof said, &e))
        snprintf(answer, size, "ok %s", said);
    else
        snprintf(answer, size, "error %.200s", e.text);
}
