#include "subject/vitals.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "os/process.h"

// The text of a small file under /proc/PID; false when it cannot be read.
static bool slurp(pid_t pid, const char *name, char *out, size_t size)
{
    char path[320];

    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    size_t got = fread(out, 1, size - 1, file);
    fclose(file);
    out[got] = '\0';
    return got > 0;
}

// The number behind "key:" of a status file; 0 without it.
static uint64_t status_value(const char *status, const char *key)
{
    const char *line = strstr(status, key);
    unsigned long long value = 0;

    return line && sscanf(line + strlen(key), " %llu", &value) == 1 ? value : 0;
}

// Nanoseconds on a processor, then nanoseconds of waiting for one; a kernel
// without these figures says nothing.
static uint64_t read_starved_us(pid_t pid, const char *schedstat)
{
    unsigned long long waited_ns = 0;
    char text[128];

    if (!slurp(pid, schedstat, text, sizeof text) || sscanf(text, "%*u %llu", &waited_ns) != 1)
        return 0;
    return waited_ns / 1000;
}

// A collector may do its work in threads.
static void read_threads(pid_t pid, struct process_sample *sample)
{
    char path[64], name[300], status[4096];

    sample->wakeups = sample->starved_us = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    for (struct dirent *t; tasks && (t = readdir(tasks)) != NULL;) {
        if (t->d_name[0] == '.')
            continue;
        snprintf(name, sizeof name, "task/%s/status", t->d_name);
        if (slurp(pid, name, status, sizeof status))
            sample->wakeups += status_value(status, "\nvoluntary_ctxt_switches:");
        snprintf(name, sizeof name, "task/%s/schedstat", t->d_name);
        uint64_t starved_us = read_starved_us(pid, name);
        if (starved_us > sample->starved_us)
            sample->starved_us = starved_us;
    }
    if (tasks)
        closedir(tasks);
}

bool vitals_read(pid_t pid, struct process_sample *sample)
{
    struct process_stat stat;
    char status[4096];

    if (!slurp(pid, "status", status, sizeof status) || !process_stat(pid, &stat))
        return false;
    sample->cpu_ms = stat.cpu_ms;
    sample->rss_kb = (uint32_t)status_value(status, "\nVmRSS:");
    read_threads(pid, sample);
    return sample->rss_kb > 0;
}
