#include "os/usage.h"

#include "os/process.h"

const char *usage_group_name(enum usage_group group)
{
    static const char *const names[USAGE_GROUPS] = {
        [USAGE_HARNESS] = "harness",
        [USAGE_COLLECTOR] = "collector",
        [USAGE_COLLECTOR_BACKENDS] = "collector_backends",
        [USAGE_LOAD_BACKENDS] = "load_backends",
        [USAGE_SERVER] = "server",
    };

    return names[group];
}

static double ticks_to_seconds(unsigned long long ticks)
{
    return (double)ticks / (double)sysconf(_SC_CLK_TCK);
}

// The first numbers in /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal.
bool usage_machine(double *busy_s, double *total_s)
{
    unsigned long long t[8] = {0}, total = 0;
    FILE *file = fopen("/proc/stat", "re");

    if (!file)
        return false;
    bool ok = fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &t[0], &t[1], &t[2],
                  &t[3], &t[4], &t[5], &t[6], &t[7]) == 8;
    fclose(file);
    for (int i = 0; i < 8; i++)
        total += t[i];
    *total_s = ticks_to_seconds(total);
    *busy_s = ticks_to_seconds(total - t[3] - t[4]);
    return ok;
}

void usage_begin(struct usage *u)
{
    double busy_s = 0, total_s = 0;

    u->round++;
    u->collector_rss_kb = 0;
    if (usage_machine(&busy_s, &total_s) && u->round == 1) {
        u->first_busy_s = busy_s;
        u->first_total_s = total_s;
    }
    u->busy_s = busy_s - u->first_busy_s;
    u->total_s = total_s - u->first_total_s;
    usage_process(u, getpid(), USAGE_HARNESS);
}

// Returns the entry of a process, a new one if it has none; NULL when there is no room for another.
static struct usage_process *find_usage_process(struct usage *u, pid_t pid, uint64_t started)
{
    for (size_t i = 0; i < u->known_count; i++) {
        if (u->known[i].pid == pid && u->known[i].started == started)
            return &u->known[i];
    }
    if (u->known_count == USAGE_PROCESSES_MAX)
        return NULL;
    struct usage_process *p = &u->known[u->known_count++];
    *p = (struct usage_process){.pid = pid, .started = started};
    return p;
}

void usage_process(struct usage *u, pid_t pid, enum usage_group group)
{
    struct process_stat stat;

    if (!process_stat(pid, &stat))
        return;
    struct usage_process *p = find_usage_process(u, pid, stat.started);
    if (!p)
        return;
    double cpu_s = (double)stat.cpu_ms / 1000;
    // CPU time that a process used before the first round does not belong to the run. A process
    // that is new in a later round has begun after the first, so all its time counts.
    if (u->round > 1)
        u->cpu_s[group] += cpu_s - p->cpu_s;
    p->cpu_s = cpu_s;
    p->round = u->round;
    if (group == USAGE_COLLECTOR)
        u->collector_rss_kb += stat.rss_kb;
}

// Ends a round, and forgets the processes that have ended. The round may have left out living ones,
// because the server did not show its backends. If they were forgotten, all their time would count
// once more.
void usage_end(struct usage *u)
{
    size_t kept = 0;

    for (size_t i = 0; i < u->known_count; i++) {
        const struct usage_process *p = &u->known[i];
        if (p->round == u->round || process_started(p->pid) == p->started)
            u->known[kept++] = *p;
    }
    u->known_count = kept;
}

double usage_others(const struct usage *u)
{
    double others_s = u->busy_s;

    for (enum usage_group g = 0; g < USAGE_GROUPS; g++)
        others_s -= u->cpu_s[g];
    return u->total_s > 0 && others_s > 0 ? others_s / u->total_s : 0;
}

const char *usage_text(const struct usage *u, char *text, size_t size)
{
    if (u->total_s <= 0) {
        snprintf(text, size, "processors not measured");
        return text;
    }
    size_t used =
        (size_t)snprintf(text, size, "processors %.0f%% busy:", 100 * u->busy_s / u->total_s);
    for (enum usage_group g = 0; g < USAGE_GROUPS; g++) {
        if (used < size)
            used += (size_t)snprintf(text + used, size - used, " %s %.0f%%,", usage_group_name(g),
                100 * u->cpu_s[g] / u->total_s);
    }
    if (used < size)
        snprintf(text + used, size - used, " others %.0f%%", 100 * usage_others(u));
    return text;
}
