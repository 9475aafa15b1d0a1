#include "subject/litter.h"

#include <signal.h>

#include "os/process.h"

static const int64_t look_pause_ns = 50 * NS_PER_MS; // time from one look to the next

// The harness's pid and start time are part of the mark. They tell its processes from those of
// another harness, and from those of an earlier harness that had the same pid.
void litter_mark(char mark[LITTER_MARK_MAX], int instance, int64_t started_ns)
{
    // Several subjects may run at once in one harness, as in the trials of --every-cut, and each
    // counts its instances from 0. So the time of the start is part of the mark.
    // Consumers of queues read the instance from it (subjects/README.md).
    snprintf(mark, LITTER_MARK_MAX, "MAILPROOF_PROCESS=%d-%llu-%d-%lld", (int)getpid(),
        (unsigned long long)process_started(getpid()), instance, (long long)started_ns);
}

void litter_fini(struct litter *l)
{
    free(l->processes);
    *l = (struct litter){0};
}

void litter_expect(struct litter *l, uint32_t process)
{
    memory_grow(&l->processes, l->count, 1, sizeof *l->processes);
    l->processes[l->count++] = process;
}

// True when the process was started with this variable. A process that has ended has no environment
// any more, even if nobody has waited for it yet.
static bool has_mark(pid_t pid, const char *mark)
{
    enum { ENVIRONMENT_MAX = 128 << 10 }; // a mark beyond this many bytes is not found
    static _Thread_local char text[ENVIRONMENT_MAX];
    size_t len = strlen(mark) + 1; // a NUL ends each variable
    char path[40];

    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    FILE *file = fopen(path, "re");
    // Only the process's own user and root may read this file.
    size_t got = file ? fread(text, 1, sizeof text, file) : 0;
    if (file)
        fclose(file);
    return got >= len && memmem(text, got, mark, len);
}

// Returns the pid of a living process with this mark; 0: there is none.
static pid_t find_marked_process(const char *mark)
{
    pid_t *all FREED_BY(memory_free) = NULL;
    size_t count = process_all(&all);

    for (size_t i = 0; i < count; i++) {
        if (has_mark(all[i], mark))
            return all[i];
    }
    return 0;
}

// Records that p has left the process `pid` running.
static void record_litter(struct process_record *p, pid_t pid, int64_t now_ns)
{
    char name[32] = "";

    if (process_file(pid, "comm", name, sizeof name))
        name[strcspn(name, "\n")] = '\0';
    p->left = PROCESS_LEFT_SOME;
    p->left_ns = now_ns;
    snprintf(p->litter, sizeof p->litter, "pid %d (%s)", (int)pid, name);
}

// Kills all processes with this mark. Each look finds one of them.
static void kill_marked_processes(const char *mark)
{
    const int looks_max = 1000; // limited, because a collector may fork as fast as this loop kills

    for (int i = 0; i < looks_max; i++) {
        pid_t pid = find_marked_process(mark);
        if (pid == 0 || (kill(pid, SIGKILL) != 0 && errno != ESRCH))
            return;
        usleep(1000); // a killed process is still found until it has ended
    }
}

// Records whether this process has left another process running, and kills what it has left. False
// while it is too early to decide.
static bool settle_litter(struct process_record *p, int64_t now_ns)
{
    char mark[LITTER_MARK_MAX];

    litter_mark(mark, p->instance, p->started_ns);
    pid_t pid = find_marked_process(mark);
    // A sender that the collector has started may need a moment to end.
    if (pid != 0 && now_ns < p->ended_ns + LITTER_GRACE_NS)
        return false;
    p->left = PROCESS_LEFT_NOTHING;
    if (pid != 0) {
        record_litter(p, pid, now_ns);
        kill_marked_processes(mark);
    }
    return true;
}

int64_t litter_look(struct litter *l, struct subject_log *log, int64_t now_ns)
{
    size_t kept = 0;

    for (size_t i = 0; i < l->count; i++) {
        uint32_t process = l->processes[i];
        if (!settle_litter(&log->processes[process], now_ns))
            l->processes[kept++] = process;
    }
    l->count = kept;
    return kept > 0 ? now_ns + look_pause_ns : CLOCK_NEVER;
}
