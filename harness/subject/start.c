// Starts the subject's processes.
//
// The collector's ends of the pipes are open in the child alone, so the harness notices when they
// are closed. The harness's own ends do not block. A pidfd reports the end of just this process,
// even when its pid is used again. The environment ends with a mark, which all descendants inherit;
// litter.c uses it to find those that live on.
//
// A process that the harness cannot watch is killed at once. If a command cannot be started, the
// run fails and gives no verdict on the collector.
#include "subject/serve.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/wait.h>

#include "os/other_user.h"
#include "os/process.h"

// Kills and reaps a process that the harness cannot watch, as if it had never been started. Always
// returns false, with the error.
static bool undo_launch(pid_t pid, int out, struct err *e)
{
    process_signal_group(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close(out);
    return err_set(e, ERR_SYSTEM, "out of memory or descriptors");
}

// Makes a pipe for a process's output and, with `with_in`, one for its input; otherwise in[] is -1.
static bool make_instance_pipes(int out[2], int in[2], bool with_in, struct err *e)
{
    in[0] = in[1] = -1;
    if (pipe2(out, O_CLOEXEC) != 0)
        return err_sys(e, ERR_SYSTEM, "cannot make a pipe");
    if (with_in && pipe2(in, O_CLOEXEC) != 0) {
        err_sys(e, ERR_SYSTEM, "cannot make a pipe");
        close(out[0]);
        close(out[1]);
        return false;
    }
    // This makes only the harness's ends non-blocking: the collector's ends are other open file
    // descriptions and keep their mode.
    fcntl(out[0], F_SETFL, O_NONBLOCK);
    if (with_in)
        fcntl(in[1], F_SETFL, O_NONBLOCK);
    return true;
}

// Enters a started process into the log and the instance. False when the process cannot be watched.
static bool enter_instance(
    struct subject *s, struct instance *in, const struct process_record *p, int out)
{
    in->output_ended = false;
    in->gone_ns = 0;
    in->empty_ns = p->started_ns;
    in->pidfd = pidfd_open(p->pid, 0);

    pthread_mutex_lock(&s->lock);
    if (in->pidfd >= 0) {
        in->process = reader_add_process(&s->reader, p);
        in->out = out;
        in->pid = p->pid;
        in->closed = in->close_asked = in->sender_killed = in->termed = false;
        atomic_store(&in->read, 0);
        in->cpu_before_s = 0;
        in->written_bytes = 0;
        in->signalled_ns = 0;
        // subject_stop told all processes to end before this one was known, so tell this one here.
        if (s->stopping) {
            s->reader.log.processes[in->process].asked = true;
            in->termed = !s->killing;
            process_signal_group(p->pid, s->killing ? SIGKILL : SIGTERM);
        }
    }
    pthread_mutex_unlock(&s->lock);
    return in->pidfd >= 0;
}

// Starts a process with its mark as the last variable of the environment. Returns its pid, or -1.
static pid_t start_marked(
    struct subject *s, int index, struct process_spec *spec, int64_t started_ns, struct err *e)
{
    char mark[LITTER_MARK_MAX];
    size_t count = 0;

    if (!other_user_apply(spec, e))
        return -1;
    while (s->config.env[count])
        count++;
    const char **env = memory_zeroed(count + 2, sizeof *env);
    memcpy(env, s->config.env, count * sizeof *env);
    litter_mark(mark, index, started_ns);
    env[count] = mark;
    spec->env = env;
    pid_t pid = process_start(spec, e);
    free(env);
    return pid;
}

// Starts a process for an instance. False with the reason when it cannot be started or watched.
static bool launch_instance(struct subject *s, int index, struct err *e)
{
    struct instance *in = &s->instances[index];
    struct process_spec spec = PROCESS_SPEC_INIT;
    int out[2], input[2];

    in->restart_at_ns = CLOCK_NEVER;
    if (!make_instance_pipes(out, input, s->config.sender, e))
        return false;
    spec.argv = (const char *const *)s->config.command;
    spec.dir = s->config.dir;
    spec.net = s->config.net ? s->config.net->fds[NETNS_COLLECTOR] : -1;
    spec.in = input[0];
    spec.out = out[1];
    spec.err = in->log;
    in->log_began = lseek(in->log, 0, SEEK_END);
    spec.death_signal = SIGKILL; // which it gets if this thread or the harness dies
    struct process_record record = {
        .instance = index, .started_ns = clock_now_ns(), .ended_ns = CLOCK_NEVER};
    record.pid = start_marked(s, index, &spec, record.started_ns, e);
    close(out[1]);
    if (input[0] >= 0)
        close(input[0]);
    mock_sender_begin(&in->sender, input[1]); // owns input[1] from now on; -1: there is no input
    if (record.pid < 0) {
        close(out[0]);
        mock_sender_begin(&in->sender, -1);
        return false;
    }
    return enter_instance(s, in, &record, out[0]) || undo_launch(record.pid, out[0], e);
}

// True when the command itself cannot be executed.
static bool is_no_program(const struct err *e)
{
    static const int reasons[] = {ENOENT, ENOTDIR, EACCES, ENOEXEC, ELOOP, ENAMETOOLONG};

    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        if (e->sys_errno == reasons[i])
            return true;
    }
    return false;
}

// True when the command is a script whose first line names an interpreter that cannot be run;
// writes this interpreter's path. The kernel reports ENOENT both for such a script and for a
// missing command.
static bool misses_interpreter(const struct subject *s, char *interpreter, size_t size)
{
    const char *program = s->config.command[0];
    char path[PATH_MAX], line[256] = "";
    FILE *f;

    bool relative = *program != '/' && s->config.dir;
    snprintf(
        path, sizeof path, "%s%s%s", relative ? s->config.dir : "", relative ? "/" : "", program);
    // A command without a slash is looked up in PATH, so this path would not be its own.
    if (!strchr(program, '/') || !(f = fopen(path, "re")))
        return false;
    bool script = fgets(line, sizeof line, f) && strncmp(line, "#!", 2) == 0;
    fclose(f);
    const char *name = line + 2 + strspn(line + 2, " \t");
    snprintf(interpreter, size, "%.*s", (int)strcspn(name, " \t\r\n"), name);
    return script && access(interpreter, X_OK) != 0;
}

// Fails the run because a process could not be started. If none was ever started and the reason
// lies in the command's name, that is the user's mistake (ERR_USAGE).
static void fail_to_launch(struct subject *s, const struct err *e)
{
    struct err failure = *e;
    char interpreter[256];

    if (s->reader.log.process_count == 0 && e->sys_errno == ENOENT &&
        misses_interpreter(s, interpreter, sizeof interpreter))
        err_set(&failure, ERR_USAGE, "cannot start %.400s: its interpreter %s is not there",
            s->config.command[0], interpreter);
    else if (s->reader.log.process_count == 0 && is_no_program(e))
        err_set(&failure, ERR_USAGE,
            "%.800s; name the collector's program on the command line or in collector.command",
            e->text);
    serve_fail(s, &failure);
}

static bool is_held_down(struct subject *s, const struct instance *in)
{
    pthread_mutex_lock(&s->lock);
    bool held = in->holds > 0;
    pthread_mutex_unlock(&s->lock);
    return held;
}

int64_t start_due(struct subject *s, int64_t now)
{
    int64_t next = CLOCK_NEVER;

    for (int i = 0; i < s->config.instances; i++) {
        struct instance *in = &s->instances[i];
        struct err e;
        // A fault holds this instance down. When the fault is over, subject_release wakes this
        // thread.
        if (is_held_down(s, in))
            continue;
        if (in->restart_at_ns <= now && !launch_instance(s, i, &e))
            fail_to_launch(s, &e);
        // CLOCK_NEVER after a start.
        next = clock_min(next, in->restart_at_ns);
    }
    return next;
}
