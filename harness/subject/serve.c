#include "subject/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/process.h"
#include "subject/vitals.h"

#define READ_CHUNK (256u << 10)

static const int64_t restart_pause_ns = 100 * NS_PER_MS;
static const int64_t nap_most_ns = 20 * NS_PER_MS; // so that a late poll is seen
static const int64_t sample_every_ns = 500 * NS_PER_MS;
static const int exits_without_line_max = 3;
static const int exit_output_failed = 74;
static const int exit_nobody_answers = 78;
static const int64_t group_grace_ns = 2 * NS_PER_S;  // to end after a wrapper that was told to
static const int64_t group_killed_ns = NS_PER_S / 2; // to be gone after SIGKILL

// The collector's doing, for which it is judged.
static void give_up(struct subject *s, const struct err *why)
{
    pthread_mutex_lock(&s->lock);
    if (!s->gave_up)
        s->why = *why;
    s->gave_up = true;
    pthread_mutex_unlock(&s->lock);
}

// Not the collector's doing.
static void fail(struct subject *s, const struct err *failure)
{
    pthread_mutex_lock(&s->lock);
    if (!s->failed)
        s->failure = *failure;
    s->failed = true;
    pthread_mutex_unlock(&s->lock);
}

// A process that cannot be watched is none.
static bool undo_launch(struct instance *in, pid_t pid, int out, struct err *e)
{
    kill(-pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close(out);
    if (in->pidfd >= 0)
        close(in->pidfd);
    in->pidfd = -1;
    return err_set(e, ERR_SYSTEM, "out of memory or descriptors");
}

static bool launch(struct subject *s, int index, struct err *e)
{
    struct instance *in = &s->instances[index];
    struct process_spec spec = PROCESS_SPEC_INIT;
    int out[2], input[2] = {-1, -1};

    in->restart_at_ns = CLOCK_NEVER;
    if (pipe2(out, O_CLOEXEC) != 0)
        return err_sys(e, ERR_SYSTEM, "cannot make a pipe");
    // Our end only: the flag belongs to this description, not to the writer's.
    fcntl(out[0], F_SETFL, O_NONBLOCK);
    if (s->config.sender && pipe2(input, O_CLOEXEC) != 0) {
        close(out[0]);
        close(out[1]);
        return err_sys(e, ERR_SYSTEM, "cannot make a pipe");
    }
    if (s->config.sender)
        fcntl(input[1], F_SETFL, O_NONBLOCK);
    spec.in = input[0];
    spec.argv = (const char *const *)s->config.command;
    spec.env = s->config.env;
    spec.net = s->config.net ? s->config.net->fds[NETNS_COLLECTOR] : -1;
    spec.out = out[1];
    spec.err = in->log;
    spec.death_signal = SIGKILL;
    struct process_record record = {
        .instance = index, .started_ns = clock_now_ns(), .ended_ns = CLOCK_NEVER};
    spec.dir = s->config.dir;
    record.pid = process_start(&spec, e);
    close(out[1]);
    if (input[0] >= 0)
        close(input[0]);
    sender_begin(&in->sender, input[1]);
    if (record.pid < 0) {
        close(out[0]);
        sender_begin(&in->sender, -1);
        return false;
    }
    in->ended = false;
    in->gone_ns = 0;
    in->pidfd = pidfd_open(record.pid, 0);

    pthread_mutex_lock(&s->lock);
    in->process = in->pidfd < 0 ? UINT32_MAX : reader_process(&s->reader, &record);
    bool known = in->process != UINT32_MAX;
    if (known) {
        in->out = out[0];
        in->pid = record.pid;
        in->closed = in->close_asked = in->sender_killed = false;
        // Who told everybody to end has not seen this one.
        if (s->stopping) {
            s->reader.log.processes[in->process].asked = true;
            kill(-record.pid, SIGKILL);
        }
    }
    pthread_mutex_unlock(&s->lock);
    return known || undo_launch(in, record.pid, out[0], e);
}

static enum sender_mood mood_of(struct subject *s, struct instance *in)
{
    pthread_mutex_lock(&s->lock);
    enum sender_mood mood = in->mood;
    if (in->sender_killed)
        sender_begin(&in->sender, -1);
    pthread_mutex_unlock(&s->lock);
    return mood;
}

// Records the whole lines that have arrived, and thinks of their answers.
static bool take_lines(struct subject *s, struct instance *in, int64_t now)
{
    uint32_t line = (uint32_t)s->reader.log.line_count;
    bool ok = reader_lines(&s->reader, &in->pending, in->process, now);

    if (!s->config.sender)
        return ok;
    enum sender_mood mood = mood_of(s, in);
    for (; ok && line < s->reader.log.line_count; line++)
        ok = sender_line(&in->sender, &s->reader.log, line, mood);
    return ok;
}

// Says what is due; returns when more is.
static int64_t answer_due(struct subject *s, int64_t now)
{
    int64_t next = CLOCK_NEVER;
    size_t unsaid = 0;

    for (int i = 0; s->config.sender && i < s->config.instances; i++) {
        struct instance *in = &s->instances[i];
        enum sender_mood mood = mood_of(s, in);
        sender_say(&in->sender, &s->reader.log, mood, now);
        unsaid += in->sender.fd >= 0 ? in->sender.count + in->sender.out.len : 0;
        next = clock_min(next, sender_next_ns(&in->sender, mood));
    }
    atomic_store(&s->unsaid, unsaid);
    return next;
}

// Reads until the pipe is empty, but no more than `most` bytes; every line gets
// the time at which its read returned. Returns false at the end of the file.
static bool drain_pipe(struct subject *s, struct instance *in, size_t *most)
{
    while (*most > 0) {
        size_t chunk = *most < READ_CHUNK ? *most : READ_CHUNK;
        char *room = buf_reserve(&in->pending, chunk);
        struct err e;
        if (!room) {
            err_set(&e, ERR_OUTPUT, "the collector wrote %u MiB without a newline",
                READER_LINE_MAX >> 20);
            give_up(s, &e);
            return false;
        }
        ssize_t got = read(in->out, room, chunk);
        int64_t now = clock_now_ns();
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0;
        in->pending.len += (size_t)got;
        *most -= (size_t)got;
        atomic_fetch_add(&s->bytes, (uint64_t)got);
        if (!take_lines(s, in, now)) {
            err_set(&e, ERR_INTERNAL, "out of memory for the lines read");
            fail(s, &e);
            return false;
        }
        atomic_store(&s->tokens, s->reader.tokens);
    }
    return true;
}

// Nothing reads this output any more. The writer stands still meanwhile, so that
// what it had written is known to have been read, to the last byte.
static void close_output(struct subject *s, struct instance *in)
{
    size_t all = SIZE_MAX;

    kill(-in->pid, SIGSTOP);
    process_wait_group_stopped(in->pid, clock_now_ns() + SERVE_STOPPED_NS);
    drain_pipe(s, in, &all);
    pthread_mutex_lock(&s->lock);
    close(in->out);
    in->out = -1;
    in->closed = true;
    in->close_asked = false;
    pthread_mutex_unlock(&s->lock);
    kill(-in->pid, SIGCONT);
}

static bool close_is_asked(struct subject *s, struct instance *in)
{
    pthread_mutex_lock(&s->lock);
    bool asked = in->close_asked && in->pid != 0;
    in->close_asked = asked; // a process that has ended meanwhile has no reader
    pthread_mutex_unlock(&s->lock);
    return asked;
}

// How much of an output may be read now, and when to look again.
static size_t may_read(struct subject *s, struct instance *in, int64_t now, int64_t *next_ns)
{
    const int64_t step_ns = 10 * NS_PER_MS;
    struct pace *p = &in->pace;

    pthread_mutex_lock(&s->lock);
    int64_t rate = p->rate;
    pthread_mutex_unlock(&s->lock);
    if (rate <= 0) {
        p->budget = 0;
        p->since_ns = now;
        return rate == 0 ? 0 : SIZE_MAX;
    }
    p->budget += (double)rate * (double)(now - p->since_ns) / 1e9;
    // What was not used is not saved up.
    p->budget = p->budget > (double)rate / 10 + 1 ? (double)rate / 10 + 1 : p->budget;
    p->since_ns = now;
    *next_ns = clock_min(*next_ns, now + step_ns);
    return (size_t)p->budget;
}

// Nobody lives, and nobody is to be started.
static bool nobody_left(const struct subject *s)
{
    for (int i = 0; i < s->config.instances; i++) {
        const struct instance *in = &s->instances[i];
        if (in->pid != 0 || in->restart_at_ns != CLOCK_NEVER)
            return false;
    }
    return true;
}

static bool is_for_good(struct subject *s, const struct instance *in)
{
    pthread_mutex_lock(&s->lock);
    bool for_good = in->for_good;
    pthread_mutex_unlock(&s->lock);
    return for_good;
}

static void decide_restart(struct subject *s, struct instance *in, const struct process_record *p)
{
    struct err e;

    if (p->lines > 0 || p->asked)
        in->exits_without_line = 0;
    else
        in->exits_without_line++;
    if (in->exits_without_line >= exits_without_line_max) {
        err_set(&e, ERR_OUTPUT, "the collector ended %d times in a row without writing a line",
            exits_without_line_max);
        give_up(s, &e);
    } else if (s->config.restart && !is_for_good(s, in)) {
        in->restart_at_ns = p->ended_ns + restart_pause_ns;
    } else if (nobody_left(s)) {
        err_set(&e, ERR_OUTPUT, "the collector ended, and %s",
            s->config.restart ? "the plan does not have it started again"
                              : "collector.restart is off");
        give_up(s, &e);
    }
}

// Whether anybody can still write to an output, read empty or not.
static bool is_held(int out, int64_t wait_ns)
{
    struct pollfd fd = {.fd = out};

    return poll(&fd, 1, (int)(wait_ns / NS_PER_MS)) == 0;
}

// A shell that runs a collector ends at TERM before the collector does, which
// has a moment to finish. Who was not told to end leaves nobody behind.
static bool may_bury(struct subject *s, struct instance *in)
{
    pthread_mutex_lock(&s->lock);
    bool asked = s->reader.log.processes[in->process].asked;
    pthread_mutex_unlock(&s->lock);
    return !asked || in->out < 0 || !is_held(in->out, 0) ||
           clock_now_ns() >= in->gone_ns + group_grace_ns;
}

// The end of what it logged, for people: its last lines, with bars between them.
static void take_last_words(int log, char *words, size_t size)
{
    off_t end = lseek(log, 0, SEEK_END);
    off_t from = end > (off_t)size - 1 ? end - (off_t)size + 1 : 0;
    ssize_t got = end > 0 ? pread(log, words, size - 1, from) : 0;

    words[got > 0 ? got : 0] = '\0';
    for (char *p = words; *p; p++)
        *p = *p == '\n' ? '|' : (unsigned char)*p < ' ' || *p == 0x7f ? '?' : *p;
}

static void reap(struct subject *s, struct instance *in)
{
    struct rusage usage = {0};
    int status = 0;
    size_t all = SIZE_MAX;

    // Until it is waited for, nobody else can have its number or its group's.
    kill(-in->pid, SIGKILL);
    if (in->out >= 0) {
        is_held(in->out, group_killed_ns);
        drain_pipe(s, in, &all);
    }
    pthread_mutex_lock(&s->lock);
    wait4(in->pid, &status, 0, &usage);
    struct process_record *p = &s->reader.log.processes[in->process];
    p->ended_ns = clock_now_ns();
    p->status = status;
    p->rss_max_kb = usage.ru_maxrss;
    p->cpu_s = (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
               (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    in->pid = 0;
    in->gone_ns = 0;
    if (in->sender_killed && WIFEXITED(status) &&
        (WEXITSTATUS(status) == exit_output_failed || WEXITSTATUS(status) == exit_nobody_answers))
        p->asked = true;
    sender_begin(&in->sender, -1);
    if (in->closed && WIFEXITED(status) && WEXITSTATUS(status) == exit_output_failed)
        p->asked = true;
    if (!p->asked && s->config.log_dir)
        take_last_words(in->log, p->last_words, sizeof p->last_words);
    int out = in->out;
    in->out = -1;
    bool stopping = s->stopping;
    struct process_record ended = *p;
    pthread_mutex_unlock(&s->lock);

    if (!reader_tail(&s->reader, &in->pending, in->process, ended.ended_ns)) {
        struct err e;
        err_set(&e, ERR_INTERNAL, "out of memory for the lines read");
        fail(s, &e);
    }
    if (out >= 0)
        close(out);
    close(in->pidfd);
    in->pidfd = -1;
    if (!stopping)
        decide_restart(s, in, &ended);
}

// Whether it is the command itself that cannot be executed.
static bool is_no_program(const struct err *e)
{
    static const int reasons[] = {ENOENT, ENOTDIR, EACCES, ENOEXEC, ELOOP, ENAMETOOLONG};

    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        if (e->sys_errno == reasons[i])
            return true;
    }
    return false;
}

// A command that never worked is for the user to mend.
static void fail_to_launch(struct subject *s, const struct err *e)
{
    struct err failure = *e;

    if (s->reader.log.process_count == 0 && is_no_program(e))
        err_set(&failure, ERR_USAGE,
            "%.800s; name the collector's program with --collector or in collector.command",
            e->text);
    fail(s, &failure);
}

static bool is_held_down(struct subject *s, const struct instance *in)
{
    pthread_mutex_lock(&s->lock);
    bool held = in->holds > 0;
    pthread_mutex_unlock(&s->lock);
    return held;
}

// Starts what is due; returns when the next start is due.
static int64_t start_due(struct subject *s, int64_t now)
{
    int64_t next = CLOCK_NEVER;

    for (int i = 0; i < s->config.instances; i++) {
        struct instance *in = &s->instances[i];
        struct err e;
        if (is_held_down(s, in))
            continue;
        if (in->restart_at_ns <= now && !launch(s, i, &e))
            fail_to_launch(s, &e);
        next = clock_min(next, in->restart_at_ns);
    }
    return next;
}

// How the living processes are; returns when to look again.
static int64_t sample_due(struct subject *s, int64_t now, int64_t due_ns)
{
    if (now < due_ns)
        return due_ns;
    for (int i = 0; i < s->config.instances; i++) {
        const struct instance *in = &s->instances[i];
        struct process_sample sample = {.at_ns = now, .process = in->process};
        if (in->pid && vitals_read(in->pid, &sample))
            reader_sample(&s->reader, &sample);
    }
    return now + sample_every_ns;
}

static bool all_done(struct subject *s)
{
    pthread_mutex_lock(&s->lock);
    bool done = s->stopping;
    for (int i = 0; i < s->config.instances; i++)
        done = done && s->instances[i].pid == 0;
    pthread_mutex_unlock(&s->lock);
    return done;
}

static bool is_stopping(struct subject *s)
{
    pthread_mutex_lock(&s->lock);
    bool stopping = s->stopping;
    pthread_mutex_unlock(&s->lock);
    return stopping;
}

// Two entries per instance: its output, then its end. The end comes last, so
// that what a process wrote before it died is read before it is buried.
static void serve(struct subject *s, struct pollfd *fds)
{
    for (int i = 0; i < s->config.instances; i++) {
        struct instance *in = &s->instances[i];
        size_t most =
            fds[2 * (size_t)i].revents ? may_read(s, in, clock_now_ns(), &(int64_t){0}) : 0;
        size_t left = most;
        if (most > 0 && !drain_pipe(s, in, &left))
            in->ended = true;
        if (most != SIZE_MAX)
            in->pace.budget -= (double)(most - left);
        if (close_is_asked(s, in))
            close_output(s, in);
        if (fds[2 * (size_t)i + 1].revents)
            in->gone_ns = clock_now_ns();
        if (in->gone_ns && may_bury(s, in))
            reap(s, in);
    }
}

void *serve_run(void *arg)
{
    struct subject *s = arg;
    size_t count = 2 * (size_t)s->config.instances + 1;
    struct pollfd *fds = calloc(count, sizeof *fds);
    int64_t sample_at_ns = 0;
    char bytes[64];
    struct err e;

    if (!fds) {
        err_set(&e, ERR_INTERNAL, "out of memory");
        fail(s, &e);
        return NULL;
    }
    while (!all_done(s)) {
        int64_t now = clock_now_ns();
        int64_t next = is_stopping(s) ? CLOCK_NEVER : start_due(s, now);
        sample_at_ns = sample_due(s, now, sample_at_ns);
        next = clock_min(next, sample_at_ns);
        next = clock_min(next, answer_due(s, now));
        for (int i = 0; i < s->config.instances; i++) {
            struct instance *in = &s->instances[i];
            // An output that its process has closed would be ready for ever, as
            // would one that is not to be read now.
            bool ready = !in->ended && may_read(s, in, now, &next) > 0;
            bool gone = in->gone_ns != 0;
            fds[2 * (size_t)i] =
                (struct pollfd){.fd = ready || gone ? in->out : -1, .events = ready ? POLLIN : 0};
            fds[2 * (size_t)i + 1] = (struct pollfd){.fd = gone ? -1 : in->pidfd, .events = POLLIN};
            if (gone)
                next = clock_min(next, in->gone_ns + group_grace_ns);
        }
        fds[count - 1] = (struct pollfd){.fd = s->wake[0], .events = POLLIN};
        int64_t asleep_ns = clock_now_ns();
        next = clock_min(next, asleep_ns + nap_most_ns);
        if (poll(fds, count, clock_poll_ms(asleep_ns, next)) < 0)
            continue;
        int64_t woke_ns = clock_now_ns();
        // What was there to be read may have been there since it fell asleep.
        if (woke_ns - asleep_ns > nap_most_ns + STALLS_LEAST_NS)
            stalls_note(&s->cost.stalls, asleep_ns, woke_ns);
        while (read(s->wake[0], bytes, sizeof bytes) > 0)
            ;
        serve(s, fds);
        int64_t done_ns = clock_now_ns();
        s->cost.serving_ns += done_ns - woke_ns;
        stalls_note(&s->cost.stalls, woke_ns, done_ns);
    }
    free(fds);
    return NULL;
}
