// Measures how long the machine kept a processor from the collector, or from the load.
//
// On a busy machine the collector or its backend may be ready to run and get no processor. The
// kernel says for how long (/proc/PID/task/*/schedstat), and a thread of the harness looks twenty
// times a second (os/starved.c). Each look keeps three waits: that of the collector's thread that
// waited longest, that of its backend, and that of the program that serves a crashable disk.
// Threads to which the collector gave a lower priority do not count.
//
// The wait w of a token is the growth of the sum of these three, from the last look before the
// token could go out to the first look after its line was read, but at most the length of that
// time. It is multiplied by the share of the busy processors that others used. So a crowd of the
// collector's own processes excuses nobody.
// - w ≤ slack/2 is no excuse. Otherwise a token that is late by no more than w is not judged.
// - Where full lines led to the token, only the time before the first of them has to be explained.
// - A kernel without schedstat gives no excuse. Where nobody watched, as in old histories, w is the
//   wait in the samples of the process that wrote the token, less what the process ran beyond one
//   processor. early and idle_instance use these samples as well, because they tell one instance
//   from another.
#include "check/inside.h"

#include <math.h>

// --- by the samples of a process --------------------------------------------------

// Returns for how long, between two samples, the process and its descendants ran beyond one
// processor. In that time its other threads may have waited because of its own work.
static int64_t own_doing_ns(const struct process_sample *before, const struct process_sample *after)
{
    int64_t ran_ns = (int64_t)(after->cpu_ms - before->cpu_ms) * NS_PER_MS;
    int64_t beyond_ns = ran_ns - (after->at_ns - before->at_ns);

    return after->cpu_ms > before->cpu_ms && beyond_ns > 0 ? beyond_ns : 0;
}

int64_t check_starved_ns(
    const struct ledger *l, uint32_t process, int64_t from_ns, int64_t until_ns)
{
    const struct subject_log *log = l->log;
    // Without an earlier sample, the counts begin at 0 when the process starts.
    struct process_sample before = {.at_ns = l->log->processes[process].started_ns}, after = before;
    size_t first = FIRST_AFTER(log->samples, log->sample_count, at_ns, from_ns), i = first;

    // The samples of all processes lie in one array, so look for the last earlier one of this
    // process.
    while (i > 0 && log->samples[i - 1].process != process)
        i--;
    if (i > 0)
        before = after = log->samples[i - 1];
    for (i = first; i < log->sample_count; i++) {
        if (log->samples[i].process != process)
            continue;
        after = log->samples[i];
        if (after.at_ns >= until_ns)
            break;
    }
    int64_t waited_ns = (int64_t)(after.starved_us - before.starved_us) * NS_PER_US;
    int64_t starved_ns = waited_ns - own_doing_ns(&before, &after);

    return after.starved_us > before.starved_us && starved_ns > 0 ? starved_ns : 0;
}

// --- by the watch over all -----------------------------------------------------------

// Returns the first sample of the watch at `at_ns` or later. When there is none, returns the last
// one, which the search leaves out for this.
static const struct starved_sample *watched_at(const struct ledger *l, int64_t at_ns)
{
    return &l->starved[FIRST_AFTER(l->starved, l->starved_count - 1, at_ns, at_ns - 1)];
}

// Returns the growth of all counts between two samples of the watch: the last one at `from_ns` or
// before, and the first one at `until_ns` or later. at_ns of the result is the time between the two
// samples.
static struct starved_sample watched(const struct ledger *l, int64_t from_ns, int64_t until_ns)
{
    const struct starved_sample *a = watched_at(l, from_ns), *b = watched_at(l, until_ns);

    if (a > l->starved && a->at_ns > from_ns)
        a--;
    return (struct starved_sample){.at_ns = b->at_ns - a->at_ns,
        .collector_us = b->collector_us - a->collector_us,
        .own_us = b->own_us - a->own_us,
        .busy_us = b->busy_us - a->busy_us,
        .load_us = b->load_us - a->load_us,
        .load_ran_us = b->load_ran_us - a->load_ran_us};
}

// Returns the share of the busy processors that programs other than the collector used, 0 to 1,
// because the collector's own work is no excuse.
static double share_of_others(const struct starved_sample *w)
{
    return w->busy_us > w->own_us ? (double)(w->busy_us - w->own_us) / (double)w->busy_us : 0;
}

int64_t check_beyond_own_ns(const struct ledger *l, int64_t from_ns, int64_t until_ns)
{
    if (l->starved_count == 0)
        return until_ns - from_ns;
    struct starved_sample w = watched(l, from_ns, until_ns);
    double processors = w.at_ns > 0 ? (double)w.own_us * NS_PER_US / (double)w.at_ns : 0;
    // With up to one processor in use, all of the time is left; with two or more, nothing.
    double left = fmin(fmax(2 - processors, 0), 1);
    return (int64_t)(left * (double)(until_ns - from_ns));
}

int64_t check_denied_ns(const struct ledger *l, uint32_t process, int64_t from_ns, int64_t until_ns)
{
    // With from_ns after until_ns, the differences of the unsigned counts would wrap.
    if (until_ns <= from_ns)
        return 0;
    if (l->starved_count == 0)
        return check_starved_ns(l, process, from_ns, until_ns);
    struct starved_sample w = watched(l, from_ns, until_ns);
    int64_t waited_ns = clock_min((int64_t)w.collector_us * NS_PER_US, w.at_ns);
    return (int64_t)((double)waited_ns * share_of_others(&w));
}

double check_load_starved(const struct ledger *l)
{
    if (l->starved_count == 0)
        return NAN;
    struct starved_sample w = watched(l, l->start_ns, l->load_end_ns);
    uint64_t ready_us = w.load_us + w.load_ran_us;
    return ready_us ? (double)w.load_us / (double)ready_us * share_of_others(&w) : NAN;
}
