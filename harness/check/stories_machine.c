// Stories of lines that are early or late because somebody had no processor.
#include "check/stories.h"

#include "base/clock.h"

// Programs that do not belong to the run use nine tenths of the processors. The slack is measured.
static void tell_late_in_a_crowd(struct story *s)
{
    story_good_token(s);
    story_line(s, 900, story_txn(s, 200, 1), 1);
    s->scenario.slack_ns = SLACK_AUTO;
    s->input.others_share = 0.9;
}

static void tell_late_in_a_small_crowd(struct story *s)
{
    tell_late_in_a_crowd(s);
    s->input.others_share = 0.5;
}

static void tell_late_beyond_a_set_slack(struct story *s)
{
    tell_late_in_a_crowd(s);
    s->scenario.slack_ns = 50 * NS_PER_MS;
}

// Others use 60% of the processors, and the generator sends the second token 150 ms after its
// intended time.
static void tell_late_beside_a_late_generator(struct story *s)
{
    tell_late_in_a_crowd(s);
    s->input.others_share = 0.6;
    s->plan_txns[1].at_ns -= 150 * NS_PER_MS;
}

static void tell_late_generator_beyond_a_set_slack(struct story *s)
{
    tell_late_beside_a_late_generator(s);
    s->scenario.slack_ns = 50 * NS_PER_MS;
}

// The others hardly use the processors, so they do not excuse the generator's delay.
static void tell_late_generator_alone(struct story *s)
{
    tell_late_beside_a_late_generator(s);
    s->input.others_share = 0.1;
}

static void tell_lost_in_a_crowd(struct story *s)
{
    tell_late_in_a_crowd(s);
    story_txn(s, 300, 1);
}

// The token is due at 350 ms, slack included, and read 60 ms later. The process is sampled at 0 ms,
// 500 ms, and so on.
static void tell_starved(struct story *s, uint64_t starved_us)
{
    story_good_token(s);
    story_line(s, 410, story_txn(s, 199, 1), 1);
    story_samples(s, 0, 0, 0);
    for (size_t i = 1; i < s->log.sample_count; i++)
        s->samples[i].starved_us = starved_us;
}

static void tell_starved_enough(struct story *s)
{
    tell_starved(s, 60000);
}

// Its other threads kept both processors busy.
static void tell_starved_by_itself(struct story *s)
{
    tell_starved_enough(s);
    for (size_t i = 1; i < s->log.sample_count; i++)
        s->samples[i].cpu_ms = 1000 * i;
}

static void tell_starved_too_little(struct story *s)
{
    tell_starved(s, 59000);
}

// The process starved for longer than the token was late, but for less than half the slack, which
// does not count.
static void tell_starved_within_slack(struct story *s)
{
    story_good_token(s);
    story_line(s, 360, story_txn(s, 199, 1), 1);
    story_samples(s, 0, 0, 0);
    for (size_t i = 1; i < s->log.sample_count; i++)
        s->samples[i].starved_us = 20000;
}

static void tell_starved_before(struct story *s)
{
    tell_starved(s, 60000);
    s->samples[0].starved_us = 60000;
}

// Another process starved, not the one that wrote the line.
static void tell_other_starved(struct story *s)
{
    tell_starved_enough(s);
    for (size_t i = 0; i < s->log.sample_count; i++)
        s->samples[i].process = 1;
    s->processes[1] = s->processes[0];
    s->log.process_count = 2;
}

// An announcement at 120 ms names a token that is not eligible. The line at 300 ms is in time only
// if that announcement opened its window. That needs a collector whose line of 240 ms held the
// result of a look before 120 ms.
static void tell_early_behind_a_starved_line(struct story *s)
{
    story_good_token(s);
    story_line(s, 240, story_txn(s, 110, 1), 1);
    s->kinds[story_txn(s, 120, 1)] = TOKEN_EXPIRED;
    story_line(s, 300, story_txn(s, 250, 1), 1);
    story_samples(s, 0, 0, 0);
}

static void tell_early_and_starved(struct story *s)
{
    tell_early_behind_a_starved_line(s);
    for (size_t i = 1; i < s->log.sample_count; i++)
        s->samples[i].starved_us = 90000;
}

// The token is due at 351 ms, slack included, and read 59 ms later. The five steps from the sample
// at 200 ms to the one at 450 ms count, and in each the collector waits `waited_ms` for a
// processor.
static void tell_watched(struct story *s, unsigned waited_ms, unsigned own_ms)
{
    story_good_token(s);
    story_line(s, 410, story_txn(s, 200, 1), 1);
    story_starved(s, waited_ms, own_ms, 0, 1);
}

static void tell_no_processor(struct story *s)
{
    tell_watched(s, 12, 1);
}

static void tell_processor_soon(struct story *s)
{
    tell_watched(s, 10, 1);
}

// The collector waits for processors that it keeps busy itself.
static void tell_crowd_of_its_own(struct story *s)
{
    tell_watched(s, 40, 95);
}

// Nine full lines follow each other without a pause, and the first of them comes 59 ms too late.
static void tell_begun_late(struct story *s, unsigned waited_ms)
{
    uint32_t first = story_txn(s, 200, 27);
    for (int i = 0; i < 9; i++)
        story_line(s, 410 + 40 * i, first + 3 * (uint32_t)i, 3);
    story_starved(s, waited_ms, 1, 0, 1);
    for (size_t i = 28; i < s->ledger.starved_count; i++) // nobody waits after 400 ms
        s->starved[i].collector_us = s->starved[28].collector_us;
}

static void tell_begun_late_for_want(struct story *s)
{
    tell_begun_late(s, 15);
}

static void tell_begun_late_for_nothing(struct story *s)
{
    tell_begun_late(s, 10);
}

// The generator is 500 ms late with an insert. In each 50 ms the load's backends run for 10 ms and
// wait `load_ms` for a processor.
static void tell_generator_starved(struct story *s, unsigned load_ms)
{
    story_good_token(s);
    story_line(s, 900, story_txn(s, 500, 1), 1);
    s->plan_txns[1].at_ns = 0;
    s->scenario.slack_ns = SLACK_AUTO;
    s->probes[0] = (struct probe_sample){.due_ns = story_last(s)->ended_ns, .took_ns = NS_PER_MS};
    s->ledger.probe_count = 1;
    story_starved(s, 0, 1, load_ms, 10);
}

static void tell_late_as_generator(struct story *s)
{
    tell_generator_starved(s, 30);
}

// The load's backends hardly wait for a processor, so something else delays the generator: a lock,
// maybe the collector's.
static void tell_generator_held_up(struct story *s)
{
    tell_generator_starved(s, 1);
}

static void tell_later_than_generator(struct story *s)
{
    tell_late_as_generator(s);
    story_line(s, 1700, story_txn(s, 1000, 1), 1);
}

// The collector's own programs keep the processors from the load.
static void tell_generator_crowded_by_collector(struct story *s)
{
    tell_late_as_generator(s);
    for (size_t i = 0; i < s->ledger.starved_count; i++)
        s->starved[i].own_us = s->starved[i].busy_us * 9 / 10;
}

// Others use all processors; the collector and the load had one whenever they were ready.
static void tell_late_in_a_watched_crowd(struct story *s)
{
    tell_late_in_a_crowd(s);
    story_starved(s, 0, 1, 1, 10);
}

// A line comes every 60 ms, and the process waits 30 ms of each 500 ms for a processor.
static void tell_slow_and_starved(struct story *s)
{
    uint32_t first = story_txn(s, 50, 27);
    for (int i = 0; i < 9; i++)
        story_line(s, 120 + 60 * i, first + 3 * (uint32_t)i, 3);
    story_samples(s, 0, 0, 0);
    for (size_t i = 0; i < s->log.sample_count; i++)
        s->samples[i].starved_us = 30000 * i;
}

static const struct story_case cases[] = {
    {"late in a crowd", tell_late_in_a_crowd, "", VERDICT_INCONCLUSIVE},
    {"late in a small crowd", tell_late_in_a_small_crowd, "late=1 ", VERDICT_VIOLATED},
    {"late in a crowd, beyond a set slack", tell_late_beyond_a_set_slack, "late=1 ",
        VERDICT_VIOLATED},
    {"lost in a crowd", tell_lost_in_a_crowd, "lost=1 ", VERDICT_VIOLATED},
    {"late, as the generator is", tell_late_beside_a_late_generator, "", VERDICT_INCONCLUSIVE},
    {"late, as the generator is, beyond a set slack", tell_late_generator_beyond_a_set_slack, "",
        VERDICT_INCONCLUSIVE},
    {"late, as the generator is, by nobody else's doing", tell_late_generator_alone, "late=1 ",
        VERDICT_VIOLATED},
    {"full lines, slow for want of a processor", tell_slow_and_starved, "", VERDICT_PASS},
    {"late, but starved", tell_starved_enough, "", VERDICT_PASS},
    {"late, starved by its own threads", tell_starved_by_itself, "late=1 ", VERDICT_VIOLATED},
    {"early behind a line", tell_early_behind_a_starved_line, "early=1 ", VERDICT_VIOLATED},
    {"early behind a line that starved", tell_early_and_starved, "", VERDICT_PASS},
    {"late, starved for less", tell_starved_too_little, "late=1 ", VERDICT_VIOLATED},
    {"late, starved within the slack", tell_starved_within_slack, "late=1 ", VERDICT_VIOLATED},
    {"late, starved before", tell_starved_before, "late=1 ", VERDICT_VIOLATED},
    {"late, and another starved", tell_other_starved, "late=1 ", VERDICT_VIOLATED},
    {"late, without a processor", tell_no_processor, "", VERDICT_PASS},
    {"late, without a processor for less", tell_processor_soon, "late=1 ", VERDICT_VIOLATED},
    {"late, in a crowd of its own", tell_crowd_of_its_own, "late=1 ", VERDICT_VIOLATED},
    {"full lines, begun late without a processor", tell_begun_late_for_want, "", VERDICT_PASS},
    {"full lines, begun late", tell_begun_late_for_nothing, "late=27 ", VERDICT_VIOLATED},
    {"late, like the starved generator", tell_late_as_generator, "", VERDICT_INCONCLUSIVE},
    {"late, and a lock held up the generator", tell_generator_held_up, "late=1 ", VERDICT_VIOLATED},
    {"later than the starved generator", tell_later_than_generator, "late=2 ", VERDICT_VIOLATED},
    {"late, and the generator in the collector's own crowd", tell_generator_crowded_by_collector,
        "late=1 ", VERDICT_VIOLATED},
    {"late in a watched crowd", tell_late_in_a_watched_crowd, "late=1 ", VERDICT_VIOLATED},
};

const struct story_cases stories_machine = {cases, sizeof cases / sizeof *cases};
