#include "os/starved.h"

#include <dirent.h>
#include <sched.h>
#include <sys/resource.h>

#include "os/process.h"
#include "os/ticker.h"
#include "os/usage.h"

static const int64_t period_ns = 50 * NS_PER_MS;

#define COLLECTORS_MAX 64

// To whom a process belongs; each kind is counted in its own way (count_thread).
enum owner { OWNER_NONE, OWNER_COLLECTOR, OWNER_COLLECTOR_BACKEND, OWNER_LOAD_BACKEND, OWNER_DISK };

// A thread as it was at the last look.
struct task {
    pid_t tid;
    uint64_t waited_us, ran_us;
    size_t look; // number of the last look that saw the thread
};

// One look at all processes.
struct look {
    pid_t collectors[COLLECTORS_MAX];
    size_t collector_count;
    uint64_t thread_us, backend_us, disk_us; // since the last look: the longest wait of a thread of
                                             // the collector, of one of its backends, and of the
                                             // disk's program
    uint64_t own_ms; // CPU time of the collector's living processes, and of the children that they
                     // have reaped
};

struct starved {
    struct starved_config config;
    struct ticker ticker;
    struct task *tasks;
    size_t task_count;
    size_t looks;
    struct look look;
    uint64_t own_ms;           // look.own_ms of the last look
    double first_busy_s;       // busy time of the machine at the first look
    struct starved_sample sum; // sum over all looks
    struct starved_sample *samples;
    size_t count;
};

static void take_look(void *arg, int64_t due_ns);

struct starved *starved_start(const struct starved_config *config, struct err *e)
{
    struct starved *s = memory_zeroed(1, sizeof *s);

    s->config = *config;
    if (ticker_start(&s->ticker, period_ns, take_look, s, e))
        return s;
    starved_free(s);
    return NULL;
}

void starved_stop(struct starved *s)
{
    if (s && ticker_stop(&s->ticker))
        take_look(s, clock_now_ns());
}

const struct starved_sample *starved_samples(const struct starved *s, size_t *count)
{
    *count = s->count;
    return s->samples;
}

void starved_free(struct starved *s)
{
    if (!s)
        return;
    starved_stop(s);
    free(s->tasks);
    free(s->samples);
    free(s);
}

// --- a thread ---------------------------------------------------------------------

// Returns what is known of the thread, or a new entry of zeros.
static struct task *find_task(struct starved *s, pid_t tid)
{
    for (size_t i = 0; i < s->task_count; i++) {
        if (s->tasks[i].tid == tid)
            return &s->tasks[i];
    }
    memory_grow(&s->tasks, s->task_count, 1, sizeof *s->tasks);
    s->tasks[s->task_count] = (struct task){.tid = tid};
    return &s->tasks[s->task_count++];
}

static uint64_t longer(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

// Counts what a thread has waited and run since the last look.
static void count_thread(struct starved *s, enum owner owner, uint64_t waited_us, uint64_t ran_us)
{
    switch (owner) {
    case OWNER_COLLECTOR:
        // Take the longest wait and not the sum, because the threads wait at the same time, and a
        // token waits for one of them. add_look counts the collector's CPU time.
        s->look.thread_us = longer(s->look.thread_us, waited_us);
        break;
    case OWNER_COLLECTOR_BACKEND:
        s->look.backend_us = longer(s->look.backend_us, waited_us);
        s->sum.own_us += ran_us;
        break;
    case OWNER_DISK:
        s->look.disk_us = longer(s->look.disk_us, waited_us);
        break;
    case OWNER_LOAD_BACKEND:
        s->sum.load_us += waited_us;
        s->sum.load_ran_us += ran_us;
        break;
    case OWNER_NONE:
        break;
    }
}

// True when the thread has a lower priority than this process. It then waits by choice, so its
// waits do not count.
static bool has_lower_priority(pid_t pid, const char *tid)
{
    char name[300], text[1024];
    int nice, policy;

    snprintf(name, sizeof name, "task/%s/stat", tid);
    if (!process_file(pid, name, text, sizeof text))
        return false;
    // The name in parentheses may hold any byte, so start after it. Nice value and policy are
    // fields 19 and 41 of proc(5), which counts from the pid.
    const char *fields = strrchr(text, ')');
    if (!fields || sscanf(fields,
                       ") %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %d %*s "
                       "%*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                       "%*s %*s %d",
                       &nice, &policy) != 2)
        return false;
    return policy == SCHED_IDLE || nice > getpriority(PRIO_PROCESS, 0);
}

// Adds the times of a thread since the last look. A thread that was not there then has begun since,
// so all its times count. The first look only stores the times, because all threads are new to it.
static void add_thread_times(struct starved *s, enum owner owner, pid_t pid, const char *tid)
{
    unsigned long long ran_ns, waited_ns;
    char name[300], text[128];

    snprintf(name, sizeof name, "task/%s/schedstat", tid);
    if (!process_file(pid, name, text, sizeof text) ||
        sscanf(text, "%llu %llu", &ran_ns, &waited_ns) != 2)
        return;
    struct task *t = find_task(s, (pid_t)atoi(tid));
    struct task now = {t->tid, waited_ns / 1000, ran_ns / 1000, s->looks};
    // When a time has fallen, the thread has ended, and a new one has got its number.
    if (now.ran_us < t->ran_us || now.waited_us < t->waited_us)
        *t = (struct task){0};
    bool waits_by_choice = owner == OWNER_COLLECTOR && has_lower_priority(pid, tid);
    if (s->looks > 0)
        count_thread(
            s, owner, waits_by_choice ? 0 : now.waited_us - t->waited_us, now.ran_us - t->ran_us);
    *t = now;
}

// --- a process --------------------------------------------------------------------

// True when the title of a backend names this role, as in "postgres: ROLE DATABASE …".
static bool has_role(const char *title, const char *role)
{
    char word[80];

    snprintf(word, sizeof word, " %s ", role);
    return strstr(title, word) != NULL;
}

// Returns to whom the process belongs by its own pid, group and title; who has started it does not
// matter here (see add_process_times). A collector leads a process group. The title of a backend
// names the role that it serves; the title of any other program begins with its path.
static enum owner find_process_owner(
    const struct starved *s, pid_t pid, const struct process_stat *stat, const char *title)
{
    for (size_t i = 0; i < s->look.collector_count; i++) {
        if (pid == s->look.collectors[i] || stat->group == s->look.collectors[i])
            return OWNER_COLLECTOR;
    }
    if (strcmp(basename(title), s->config.disk) == 0)
        return OWNER_DISK;
    if (strncmp(title, "postgres: ", 10) != 0)
        return OWNER_NONE;
    if (has_role(title, s->config.collector_role))
        return OWNER_COLLECTOR_BACKEND;
    return has_role(title, s->config.load_role) ? OWNER_LOAD_BACKEND : OWNER_NONE;
}

static void add_process_times(struct starved *s, pid_t pid, enum owner parent_owner, int depth);

// Does what add_process_times does for the processes that this thread has started. `depth` limits
// how many generations of descendants are visited; 0: none.
static void add_children_times(
    struct starved *s, enum owner owner, pid_t pid, const char *tid, int depth)
{
    pid_t *children FREED_BY(memory_free) = NULL;
    size_t count = depth > 0 ? process_thread_children(pid, tid, &children) : 0;

    for (size_t i = 0; i < count; i++)
        add_process_times(s, children[i], owner, depth - 1);
}

// Finds out whose process this is, and adds to the present look (s->look and s->sum) how long its
// threads waited and ran. Then does the same for its descendants, `depth` generations at most.
// `parent_owner`: the owner of the process that has started it.
static void add_process_times(struct starved *s, pid_t pid, enum owner parent_owner, int depth)
{
    struct process_stat stat;
    char path[64], title[256] = "";

    if (!process_stat(pid, &stat))
        return;
    process_file(pid, "cmdline", title, sizeof title);
    // Whatever a collector starts belongs to it.
    enum owner owner = parent_owner == OWNER_COLLECTOR ? OWNER_COLLECTOR
                                                       : find_process_owner(s, pid, &stat, title);
    if (owner == OWNER_COLLECTOR)
        s->look.own_ms += stat.cpu_ms + stat.ended_children_ms;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    for (struct dirent *t; tasks && (t = readdir(tasks)) != NULL;) {
        if (t->d_name[0] == '.')
            continue;
        if (owner != OWNER_NONE)
            add_thread_times(s, owner, pid, t->d_name);
        add_children_times(s, owner, pid, t->d_name, depth);
    }
    if (tasks)
        closedir(tasks);
}

// --- one look at all processes ----------------------------------------------------

// Forgets the threads that this look has not seen.
static void forget_ended_threads(struct starved *s)
{
    size_t kept = 0;

    for (size_t i = 0; i < s->task_count; i++) {
        if (s->tasks[i].look == s->looks)
            s->tasks[kept++] = s->tasks[i];
    }
    s->task_count = kept;
}

// Adds the look to the sum. A process that has ended, and that no process of the collector reaped,
// takes its time out of own_ms. CPU time that was used since the last look is then lost.
static void add_look(struct starved *s, double busy_s)
{
    s->first_busy_s = s->looks ? s->first_busy_s : busy_s;
    s->sum.busy_us = (uint64_t)((busy_s - s->first_busy_s) * 1e6);
    s->sum.collector_us += s->look.thread_us + s->look.backend_us + s->look.disk_us;
    if (s->looks && s->look.own_ms > s->own_ms)
        s->sum.own_us += (s->look.own_ms - s->own_ms) * 1000;
    s->own_ms = s->look.own_ms;
}

// Looks once at all threads that count, and stores the new sums as a sample. The ticker calls this
// twenty times a second.
static void take_look(void *arg, int64_t due_ns)
{
    struct starved *s = arg;
    const int depth_most = 16; // generations of descendants
    pid_t server = s->config.server ? atomic_load(s->config.server) : 0;
    double busy_s = 0, total_s = 0;

    (void)due_ns;
    s->look = (struct look){0};
    s->look.collector_count =
        s->config.collectors(s->config.arg, s->look.collectors, COLLECTORS_MAX);
    s->sum.at_ns = clock_now_ns();
    add_process_times(s, getpid(), OWNER_NONE, depth_most);
    // A server in a container is no descendant of this process.
    if (server)
        add_process_times(s, server, OWNER_NONE, depth_most);
    usage_machine(&busy_s, &total_s);
    add_look(s, busy_s);
    forget_ended_threads(s);
    s->looks++;
    memory_grow(&s->samples, s->count, 1, sizeof s->sum);
    s->samples[s->count++] = s->sum;
}
