#include "subject/process_sample.h"

#include <dirent.h>

#include "os/process.h"

// Returns the number that follows `key` in a status file; 0 if the key is not there.
static uint64_t status_value(const char *status, const char *key)
{
    const char *line = strstr(status, key);
    unsigned long long value = 0;

    return line && sscanf(line + strlen(key), " %llu", &value) == 1 ? value : 0;
}

// Returns how long a thread waited for a processor; 0 on a kernel that does not tell. The file
// holds two numbers: nanoseconds on a processor, then nanoseconds of waiting for one.
static uint64_t read_starved_us(pid_t pid, const char *schedstat)
{
    unsigned long long waited_ns = 0;
    char text[128];

    if (!process_file(pid, schedstat, text, sizeof text) ||
        sscanf(text, "%*u %llu", &waited_ns) != 1)
        return 0;
    return waited_ns / 1000;
}

static bool add_process(pid_t pid, struct process_sample *sample, int depth);

// Adds the processes that a thread has started, such as the collector that a shell runs.
static void add_children(pid_t pid, const char *thread, struct process_sample *sample, int depth)
{
    pid_t *children FREED_BY(memory_free) = NULL;
    size_t count = depth > 0 ? process_thread_children(pid, thread, &children) : 0;

    for (size_t i = 0; i < count; i++)
        add_process(children[i], sample, depth - 1);
}

// Adds the figures of each thread and of each thread's children, because a collector may do its
// work in any of them.
static void add_threads(pid_t pid, struct process_sample *sample, int depth)
{
    char path[64], name[300], status[PROCESS_STATUS_MAX];

    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    for (struct dirent *t; tasks && (t = readdir(tasks)) != NULL;) {
        if (t->d_name[0] == '.')
            continue;
        snprintf(name, sizeof name, "task/%s/status", t->d_name);
        if (process_file(pid, name, status, sizeof status))
            sample->wakeups += status_value(status, "\nvoluntary_ctxt_switches:");
        snprintf(name, sizeof name, "task/%s/schedstat", t->d_name);
        uint64_t starved_us = read_starved_us(pid, name);
        // Threads wait at the same time, so the longest waiting counts and not the sum.
        if (starved_us > sample->starved_us)
            sample->starved_us = starved_us;
        add_children(pid, t->d_name, sample, depth);
    }
    if (tasks)
        closedir(tasks);
}

// Adds a process and its descendants down to `depth` levels. False when the process has ended.
static bool add_process(pid_t pid, struct process_sample *sample, int depth)
{
    struct process_stat stat;
    char status[PROCESS_STATUS_MAX];

    if (!process_file(pid, "status", status, sizeof status) || !process_stat(pid, &stat))
        return false;
    uint32_t rss_kb = (uint32_t)status_value(status, "\nVmRSS:");
    sample->cpu_ms += stat.cpu_ms;
    sample->rss_kb += rss_kb;
    sample->fds += (uint32_t)process_descriptors(pid);
    sample->processes++;
    add_threads(pid, sample, depth);
    // A process that has ended and was not yet reaped has no memory.
    return rss_kb > 0;
}

bool process_sample_read(pid_t pid, struct process_sample *sample)
{
    const int depth_most = 8; // limits the recursion

    sample->cpu_ms = sample->wakeups = sample->starved_us = 0;
    sample->rss_kb = sample->fds = sample->processes = 0;
    return add_process(pid, sample, depth_most);
}
