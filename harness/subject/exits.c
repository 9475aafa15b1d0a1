// Handles the end of a subject's process.
//
// The command may be a script that runs the collector, so every signal goes to the whole process
// group. A collector that was told to end counts as ended when all processes of its group have
// closed its output, but at the latest two seconds after the end of the command itself. Processes
// of the group that still run at that time are killed. When the command ends without having been
// told to, the rest of its group is killed at once. A process that leaves the group (setsid, a
// container engine's client) cannot be killed in this way.
//
// An error of the collector, such as three exits without a line, makes the subject give up
// (serve_give_up), and the verdict says violated. An error of the harness makes the subject fail
// (serve_fail), and the run ends with that error.
#include "subject/serve.h"

#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "os/process.h"
#include "base/utf8.h"

static const int64_t restart_pause_ns = 100 * NS_PER_MS;
static const int exits_without_line_max = 3;
// A queue's worker is allowed to end whenever the server is away: the documentation of such queues
// leaves it to a supervisor to start the worker again. So more such exits are allowed.
static const int worker_exits_without_line_max = 30;
static const int exit_output_failed = 74;
static const int exit_nobody_answers = 78;
static const int64_t group_killed_ns = NS_PER_S / 2; // how long to wait for a group to end after
                                                     // SIGKILL

// Waits for wait_ns at most. True when a process still holds the output open for writing; poll asks
// for no data, so it reports nothing but the closing.
static bool is_output_held(int out, int64_t wait_ns)
{
    struct pollfd fd = {.fd = out};

    return poll(&fd, 1, (int)(wait_ns / NS_PER_MS)) == 0;
}

// True when no instance has a process and none is to get another one.
static bool nobody_left(const struct subject *s)
{
    for (int i = 0; i < s->config.instances; i++) {
        const struct instance *in = &s->instances[i];
        if (in->pid != 0 || in->restart_at_ns != CLOCK_NEVER)
            return false;
    }
    return true;
}

// Decides after the end of a process whether the instance is started again, or the run gives up.
static void decide_restart(struct subject *s, struct instance *in, const struct process_record *p)
{
    const int exits_max = s->config.jobs ? worker_exits_without_line_max : exits_without_line_max;
    struct err e;

    if (p->lines > 0 || p->asked)
        in->exits_without_line = 0;
    else
        in->exits_without_line++;
    // Without this limit, a collector that cannot run at all would be started again until the end
    // of the run.
    if (in->exits_without_line >= exits_max) {
        err_set(&e, ERR_OUTPUT, "the collector ended %d times in a row without writing a line",
            exits_max);
        serve_give_up(s, &e);
    } else if (s->config.restart && !serve_flag(s, &in->for_good)) {
        in->restart_at_ns = p->ended_ns + restart_pause_ns;
    } else if (nobody_left(s)) {
        err_set(&e, ERR_OUTPUT, "the collector ended, and %s",
            s->config.restart ? "the plan does not have it started again"
                              : "collector.restart is false");
        serve_give_up(s, &e);
    }
}

// A shell that runs a collector may end at TERM before the collector does, so the collector gets
// EXITS_GRACE_NS to finish. With in->out < 0 there is no such wait: a fault has closed the output,
// so nothing shows whether the collector still writes.
bool exits_may_reap(struct subject *s, struct instance *in)
{
    // Only this thread moves the array of processes, so the address needs no lock.
    return !serve_flag(s, &s->reader.log.processes[in->process].asked) || in->out < 0 ||
           !is_output_held(in->out, 0) || clock_now_ns() >= in->gone_ns + EXITS_GRACE_NS;
}

// Copies the end of what a process wrote to its log, as valid UTF-8, with a bar in the place of
// each newline. A collector may write any bytes, and the copy may begin in the middle of a
// character.
static void take_last_words(const struct instance *in, char *words, size_t size)
{
    off_t end = lseek(in->log, 0, SEEK_END), room = (off_t)size - 1;
    off_t from = end - room > in->log_began ? end - room : in->log_began;
    ssize_t got = pread(in->log, words, size - 1, from);

    if (got > 0 && words[got - 1] == '\n')
        got--;
    words[got > 0 ? got : 0] = '\0';
    for (char *p = words; *p; p++)
        *p = *p == '\n' ? '|' : *p;
    utf8_mend(words);
}

// True when the process lost its sender or its output, and its exit code says that it ended for
// this reason. Any other code leaves its end unplanned.
static bool is_end_explained(const struct instance *in, int status)
{
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;

    return (code == exit_output_failed && (in->closed || in->sender_killed)) ||
           (code == exit_nobody_answers && in->sender_killed);
}

void exits_reap(struct subject *s, struct instance *in)
{
    struct rusage usage = {0};
    int status = 0;

    // Kill the rest of the group first. As long as the process was not waited for, its pid and its
    // group cannot belong to other processes.
    process_signal_group(in->pid, SIGKILL);
    if (in->out >= 0) {
        // Wait here until the killed processes have closed the output; the result does not matter.
        is_output_held(in->out, group_killed_ns);
        // What the process wrote before its end counts as delivered.
        serve_empty_pipe(s, in);
    }
    pthread_mutex_lock(&s->lock);
    wait4(in->pid, &status, 0, &usage);
    struct process_record *p = &s->reader.log.processes[in->process];
    p->ended_ns = clock_now_ns();
    p->status = status;
    p->rss_max_kb = usage.ru_maxrss;
    p->cpu_s = (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
               (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    // cpu_before_s comes from a sample, which also counts descendants that nobody has waited for.
    // wait4 does not count these, so its time may be the smaller one.
    p->cpu_s = p->cpu_s > in->cpu_before_s ? p->cpu_s - in->cpu_before_s : 0;
    in->pid = 0;
    in->gone_ns = 0;
    p->asked = p->asked || is_end_explained(in, status);
    // The queue must deliver again the jobs whose handlers still waited for an answer, so the
    // harness waits for these deliveries.
    mock_sender_abandon(&in->sender, &s->reader.log);
    for (size_t i = 0; i < in->sender.count; i++)
        reader_refuse(&s->reader, s->reader.log.deliveries[in->sender.heap[i].delivery].line);
    mock_sender_begin(&in->sender, -1); // -1: for no process
    if (!p->asked && s->config.log_dir)
        take_last_words(in, p->last_words, sizeof p->last_words);
    bool termed = in->termed;
    int out = in->out;
    in->out = -1;
    bool stopping = s->stopping;
    // The array that `p` points into may be moved once the lock is free, so copy the record.
    struct process_record ended = *p;
    pthread_mutex_unlock(&s->lock);

    struct reading reading = {.read_ns = ended.ended_ns, .empty_ns = in->empty_ns};
    // Only a process that ended at TERM had the chance to end what it had started.
    if (termed) {
        s->litter_ns = ended.ended_ns;
        litter_expect(&s->litter, in->process);
    }
    reader_tail(&s->reader, &in->pending, in->process, &reading);
    if (out >= 0)
        close(out);
    close(in->pidfd);
    in->pidfd = -1;
    if (!stopping)
        decide_restart(s, in, &ended);
}
