// leak: the memory of a process grows during the load, or the number of its descriptors, processes
// or sessions.
//
// Memory goes up and down with what is in hand, so only its lowest values count. The last three
// quarters of the process's life under load are divided into ten blocks, and each block has a least
// memory. The memory leaks when all of this is true:
// - From the first block to the last, the least memory grows by 256 kB or more.
// - At least a quarter of this growth is in each half of the time. A buffer that grows to its final
//   size does so in one step, which is no leak.
// - The growth is no chance. Of all pairs of blocks, those that grow outnumber those that shrink
//   (the difference is Kendall's S) by a number that random values reach once in 1,000 times.
// Seven of the ten blocks must have a sample; there are two samples a second. With
// `collector.memory: collected` memory is not judged.
//
// Descriptors, processes and sessions leak when their least number in each quarter of that life is
// larger than in the quarter before, and larger by six in the last quarter than in the first.
// Memory, descriptors and processes are those of a collector and of all below it. The sessions are
// those of all collectors, as the server shows them, so they are judged once: over the life of the
// first process that lived long enough.
#include "check/inside.h"

enum { BLOCKS = 10, BLOCKS_LEAST = 7 };

static const uint32_t growth_least_kb = 256;
static const uint32_t count_least = 6; // descriptors, processes or sessions

// The index is the number of values. In random order, their Kendall's S reaches the entry with a
// probability of about 0.1% (0.02% to 0.11%).
static const int trend_least[BLOCKS + 1] = {[7] = 21, [8] = 26, [9] = 30, [10] = 33};

// The lowest values of the memory of a process.
struct envelope {
    uint32_t least_kb[BLOCKS]; // the least memory of each block that has a sample
    size_t count;
};

// Finds the least memory of the process in each of ten blocks of a time. `+ 1` keeps until_ns
// itself in the last block.
static struct envelope envelope_of(
    const struct ledger *l, uint32_t process, int64_t from_ns, int64_t until_ns)
{
    struct envelope env = {0};
    int64_t block_ns = (until_ns - from_ns) / BLOCKS + 1;
    int64_t block = -1;

    for (size_t i = 0; i < l->log->sample_count; i++) {
        const struct process_sample *s = &l->log->samples[i];
        if (s->process != process || s->at_ns < from_ns || s->at_ns > until_ns)
            continue;
        int64_t in = (s->at_ns - from_ns) / block_ns;
        // A block without a sample is left out, so the blocks that count may be fewer than ten.
        if (in != block)
            env.least_kb[env.count++] = s->rss_kb;
        else if (s->rss_kb < env.least_kb[env.count - 1])
            env.least_kb[env.count - 1] = s->rss_kb;
        block = in;
    }
    return env;
}

// Returns Kendall's S: the pairs that grow less those that shrink.
static int trend_of(const struct envelope *env)
{
    int s = 0;

    for (size_t i = 0; i < env->count; i++) {
        for (size_t j = i + 1; j < env->count; j++)
            s += (env->least_kb[j] > env->least_kb[i]) - (env->least_kb[j] < env->least_kb[i]);
    }
    return s;
}

// True when the memory grows like a leak: by enough, with a trend, and in both halves.
static bool grows(const struct envelope *env)
{
    uint32_t first = env->least_kb[0], last = env->least_kb[env->count - 1];
    uint32_t middle = env->least_kb[env->count / 2];

    if (last < first + growth_least_kb || trend_of(env) < trend_least[env->count])
        return false;
    uint32_t growth = last - first;
    // A single step lies in one half; a leak is in both.
    return middle >= first + growth / 4 && last >= middle + growth / 4;
}

// Returns when the life of a process under load began.
static int64_t born_ns(const struct ledger *l, const struct process_record *p)
{
    return clock_max(p->started_ns, l->start_ns);
}

// Returns when the life of a process under load ended.
static int64_t end_ns(const struct ledger *l, const struct process_record *p)
{
    return clock_min(p->ended_ns, l->load_end_ns);
}

// --- what is counted ---------------------------------------------------------------------

// The least count in each quarter of a time.
struct quarters {
    uint32_t least[4];
    bool seen[4];
};

// Takes in a count `n` of the time at_ns. from_ns and until_ns are the limits of the four quarters.
static void take_leak_sample(
    struct quarters *q, int64_t from_ns, int64_t until_ns, int64_t at_ns, uint32_t n)
{
    if (at_ns < from_ns || at_ns >= until_ns)
        return;
    size_t i = (size_t)(4 * (at_ns - from_ns) / (until_ns - from_ns));
    q->least[i] = q->seen[i] && q->least[i] < n ? q->least[i] : n;
    q->seen[i] = true;
}

// True when each quarter has more than the one before, and the last has count_least more than the
// first. A count of 0 is one that nobody took, as in an old history.
static bool climbs(const struct quarters *q)
{
    for (int i = 1; i < 4; i++) {
        if (!q->seen[i] || !q->seen[i - 1] || q->least[i] <= q->least[i - 1])
            return false;
    }
    return q->least[0] > 0 && q->least[3] >= q->least[0] + count_least;
}

// Adds a finding if the counts climb; `what` is what was counted.
static void find_climb(struct result *r, const struct quarters *q, const char *what, int pid)
{
    if (climbs(q))
        finding_add(r, METRIC_LEAK, "pid %d: at least %u, %u, %u and %u %s in each quarter", pid,
            q->least[0], q->least[1], q->least[2], q->least[3], what);
}

// Judges two counts of a process and all processes below it: their open descriptors, and how many
// processes they are.
static void check_counts(
    struct result *r, const struct ledger *l, uint32_t process, int64_t from_ns, int64_t until_ns)
{
    int pid = (int)l->log->processes[process].pid;
    struct quarters fds = {0}, processes = {0};

    for (size_t i = 0; i < l->log->sample_count; i++) {
        const struct process_sample *s = &l->log->samples[i];
        if (s->process != process)
            continue;
        take_leak_sample(&fds, from_ns, until_ns, s->at_ns, s->fds);
        take_leak_sample(&processes, from_ns, until_ns, s->at_ns, s->processes);
    }
    find_climb(r, &fds, "descriptors", pid);
    find_climb(r, &processes, "processes", pid);
}

// Judges the sessions of all collectors over the life of a process.
static void check_sessions(struct result *r, const struct ledger *l, uint32_t process)
{
    const struct process_record *p = &l->log->processes[process];
    struct quarters sessions = {0};

    for (size_t i = 0; i < l->look_count; i++)
        take_leak_sample(
            &sessions, born_ns(l, p), end_ns(l, p), l->looks[i].at_ns, l->looks[i].sessions);
    find_climb(r, &sessions, "sessions", (int)p->pid);
}

// --- a process ---------------------------------------------------------------------------

// Judges a process. False when its life under load was too short, or has too few samples.
static bool check_process(struct result *r, const struct ledger *l, uint32_t process)
{
    const struct process_record *p = &l->log->processes[process];
    int64_t until_ns = end_ns(l, p);
    // In its first quarter a process still fills its caches and buffers.
    int64_t from_ns = born_ns(l, p) + (until_ns - born_ns(l, p)) / 4;
    // A runtime with a garbage collector lets memory grow until that runs, which may be after the
    // run's end.
    bool plain = l->scenario->collector.memory == MEMORY_PLAIN;

    if (until_ns <= born_ns(l, p))
        return false;
    struct envelope env = envelope_of(l, process, from_ns, until_ns);
    if (env.count < BLOCKS_LEAST)
        return false;
    check_counts(r, l, process, born_ns(l, p), until_ns);
    judged_add(r, METRIC_LEAK, (double)(until_ns - from_ns) / 1e9, CAUSE_IS_NONE);
    if (plain && grows(&env))
        finding_add(r, METRIC_LEAK,
            "pid %d: never below %u kB around %.3f s, never below %u kB around %.3f s, %u %s",
            (int)p->pid, env.least_kb[0], ledger_seconds(l, from_ns), env.least_kb[env.count - 1],
            ledger_seconds(l, until_ns), p->lines, NOUN(p->lines, "line", "lines"));
    return true;
}

void check_leak(const struct check *c)
{
    bool judged_sessions = false;

    for (uint32_t p = 0; p < c->l->log->process_count; p++) {
        if (!check_process(c->r, c->l, p) || judged_sessions)
            continue;
        check_sessions(c->r, c->l, p);
        judged_sessions = true;
    }
}
