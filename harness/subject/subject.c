#include "subject/subject.h"

#include <fcntl.h>
#include <sys/ioctl.h>

#include "os/paths.h"
#include "os/process.h"
#include "subject/serve.h"

const struct subject_cost *subject_cost(const struct subject *s)
{
    return &s->cost;
}

// Wakes the subject's thread, so that it sees what was changed under the lock.
static void wake_up(struct subject *s)
{
    ssize_t ignored = write(s->wake[1], "x", 1);
    (void)ignored;
}

// --- what other threads call -------------------------------------------------

// At a process's first signal to end, notes how much it has written by then: the bytes that were
// read and those in the pipe. Called under the lock. If the reader takes bytes out of the pipe
// between the two look-ups, the sum is too small, but never too large: that would pass off later
// lines as written before the signal.
static void note_written(struct instance *in)
{
    uint64_t read = atomic_load(&in->read);
    int waiting = 0;

    if (in->signalled_ns || in->out < 0 || ioctl(in->out, FIONREAD, &waiting) != 0)
        return;
    in->written_bytes = read + (uint64_t)waiting;
    in->signalled_ns = clock_now_ns();
}

// Sends a signal to the process group of an instance. Called under the lock. False when the
// instance has no process, or the signal cannot be sent.
static bool send_signal(struct subject *s, int index, int signal)
{
    struct instance *in = &s->instances[index];

    if (in->pid == 0)
        return false;
    // Any signal but these may end the process (0 sends none). Mark its end as planned before the
    // signal is sent, because the process may end as soon as it gets the signal.
    if (signal != 0 && signal != SIGSTOP && signal != SIGCONT) {
        struct process_record *p = &s->reader.log.processes[in->process];
        // Stays true while TERM is the only such signal that it got.
        in->termed = signal == SIGTERM && (in->termed || !p->asked);
        p->asked = true;
        note_written(in);
    }
    return process_signal_group(in->pid, signal);
}

size_t subject_signal(struct subject *s, int instance, int signal, pid_t *pids)
{
    size_t count = 0;

    pthread_mutex_lock(&s->lock);
    for (int i = 0; i < s->config.instances; i++) {
        if ((instance < 0 || instance == i) && send_signal(s, i, signal))
            pids[count++] = s->instances[i].pid;
    }
    pthread_mutex_unlock(&s->lock);
    return count;
}

size_t subject_hold_down(
    struct subject *s, int instance, int signal, bool for_good, pid_t *pids, uint64_t *held)
{
    size_t count = 0;

    _Static_assert(INSTANCES_MAX <= 64, "*held has a bit for each");
    *held = 0;
    pthread_mutex_lock(&s->lock);
    for (int i = 0; i < s->config.instances; i++) {
        if ((instance >= 0 && instance != i) || !send_signal(s, i, signal))
            continue;
        pids[count++] = s->instances[i].pid;
        if (for_good) {
            s->instances[i].for_good = true;
        } else {
            s->instances[i].holds++;
            *held |= UINT64_C(1) << i;
        }
    }
    pthread_mutex_unlock(&s->lock);
    return count;
}

void subject_release(struct subject *s, uint64_t held)
{
    pthread_mutex_lock(&s->lock);
    for (int i = 0; i < s->config.instances; i++) {
        if (held >> i & 1) {
            assert(s->instances[i].holds > 0);
            s->instances[i].holds--;
        }
    }
    pthread_mutex_unlock(&s->lock);
    wake_up(s);
}

bool subject_started(struct subject *s, uint64_t held)
{
    bool started = true;

    pthread_mutex_lock(&s->lock);
    for (int i = 0; i < s->config.instances; i++) {
        const struct instance *in = &s->instances[i];
        if (held >> i & 1)
            // The fault that asks need not wait for an instance that another fault holds down.
            started = started && (in->pid != 0 || in->holds > 0 || in->for_good);
    }
    pthread_mutex_unlock(&s->lock);
    return started;
}

bool subject_ended(struct subject *s, const pid_t *pids, size_t count)
{
    bool ended = true;

    pthread_mutex_lock(&s->lock);
    for (int i = 0; i < s->config.instances; i++) {
        for (size_t j = 0; j < count; j++)
            ended = ended && s->instances[i].pid != pids[j];
    }
    pthread_mutex_unlock(&s->lock);
    return ended;
}

void subject_set_read_rate(struct subject *s, int instance, int64_t bytes_per_s)
{
    pthread_mutex_lock(&s->lock);
    for (int i = 0; i < s->config.instances; i++) {
        if (instance < 0 || instance == i)
            s->instances[i].pace.rate = bytes_per_s;
    }
    pthread_mutex_unlock(&s->lock);
    wake_up(s);
}

size_t subject_unread(struct subject *s, int instance)
{
    size_t unread = 0;

    pthread_mutex_lock(&s->lock);
    for (int i = 0; i < s->config.instances; i++) {
        int waiting = 0;
        if ((instance < 0 || instance == i) && s->instances[i].pid &&
            ioctl(s->instances[i].out, FIONREAD, &waiting) == 0)
            unread += (size_t)waiting;
    }
    pthread_mutex_unlock(&s->lock);
    return unread;
}

uint64_t subject_read_bytes(struct subject *s)
{
    return atomic_load(&s->bytes);
}

void subject_set_mood(struct subject *s, int instance, int mood)
{
    pthread_mutex_lock(&s->lock);
    for (int i = 0; i < s->config.instances; i++) {
        if (instance < 0 || instance == i)
            s->instances[i].mood = (enum sender_mood)mood;
    }
    pthread_mutex_unlock(&s->lock);
    wake_up(s);
}

size_t subject_kill_sender(struct subject *s, int instance, pid_t *pids)
{
    size_t count = 0;

    pthread_mutex_lock(&s->lock);
    for (int i = 0; i < s->config.instances; i++) {
        struct instance *in = &s->instances[i];
        if ((instance >= 0 && instance != i) || in->pid == 0 || in->sender_killed)
            continue;
        in->sender_killed = true;
        pids[count++] = in->pid;
    }
    pthread_mutex_unlock(&s->lock);
    wake_up(s);
    return count;
}

bool subject_answered(struct subject *s)
{
    return atomic_load(&s->unsaid) == 0;
}

size_t subject_close_reader(struct subject *s, int instance, pid_t *pids)
{
    size_t count = 0, closed = 0;

    pthread_mutex_lock(&s->lock);
    for (int i = 0; i < s->config.instances; i++) {
        struct instance *in = &s->instances[i];
        if ((instance >= 0 && instance != i) || in->pid == 0 || in->closed)
            continue;
        in->close_asked = true;
        pids[count++] = in->pid;
    }
    pthread_mutex_unlock(&s->lock);
    wake_up(s);
    // The thread closes one output after the other, and may wait SERVE_STOPPED_NS for each.
    int64_t deadline = clock_now_ns() + (int64_t)(count + 1) * SERVE_STOPPED_NS;
    // Return only when the thread has closed the pipes, because the calling fault relies on that.
    // An instance whose close_asked is false again is done.
    while (closed < count && clock_now_ns() < deadline) {
        usleep(500);
        closed = count;
        pthread_mutex_lock(&s->lock);
        for (int i = 0; i < s->config.instances; i++)
            closed -= s->instances[i].close_asked;
        pthread_mutex_unlock(&s->lock);
    }
    return closed;
}

bool subject_failed(struct subject *s, struct err *e)
{
    pthread_mutex_lock(&s->lock);
    bool failed = s->failure.kind != ERR_NONE;
    if (failed)
        *e = s->failure;
    pthread_mutex_unlock(&s->lock);
    return failed;
}

bool subject_gave_up(struct subject *s, struct err *e)
{
    pthread_mutex_lock(&s->lock);
    bool gave_up = s->why.kind != ERR_NONE;
    if (gave_up && e)
        *e = s->why;
    pthread_mutex_unlock(&s->lock);
    return gave_up;
}

uint64_t subject_tokens(struct subject *s)
{
    return atomic_load(&s->tokens);
}

uint64_t subject_tokens_of(struct subject *s, int instance)
{
    uint64_t tokens = 0;

    for (int i = 0; i < s->config.instances; i++)
        tokens += instance < 0 || instance == i ? atomic_load(&s->instances[i].tokens) : 0;
    return tokens;
}

int64_t subject_seen_ns(struct subject *s, uint32_t token)
{
    return atomic_load(&s->reader.seen_ns[token]);
}

struct subject_log *subject_log(struct subject *s)
{
    return &s->reader.log;
}

// Fails an order to begin a new log that was not carried out in time, with the reason.
static void fail_log_order(struct log_order *o)
{
    char why[100] = "the harness was too busy to look";

    if (o->due > 0)
        snprintf(why, sizeof why, "%zu %s due", o->due, NOUN(o->due, "answer is", "answers are"));
    else if (o->litter)
        snprintf(why, sizeof why, "it is not known yet what its ended processes have left running");
    err_set(&o->err, ERR_SYSTEM, "the collector is not at rest: %s", why);
}

bool subject_begin_log(struct subject *s, const struct subject_new_log *to, struct subject_log *log,
    struct subject_cost *cost, struct err *e)
{
    // What ended processes have left is known after LITTER_GRACE_NS; the answers have 5 s more.
    const int64_t deadline = clock_now_ns() + LITTER_GRACE_NS + 5 * NS_PER_S;
    struct log_order order = {.to = to, .log = log, .cost = cost};

    *log = (struct subject_log){0};
    *cost = (struct subject_cost){0};
    pthread_mutex_lock(&s->lock);
    s->log_order = &order;
    pthread_mutex_unlock(&s->lock);
    wake_up(s);
    // The subject's thread carries out the order (new_log_make), as soon as nothing in the old log
    // is still to be filled in.
    for (bool over = false; !over;) {
        usleep(500);
        pthread_mutex_lock(&s->lock);
        // At the deadline, take the order back, so that it is not carried out later.
        if (clock_now_ns() >= deadline && s->log_order) {
            s->log_order = NULL;
            fail_log_order(&order);
        }
        over = !s->log_order;
        pthread_mutex_unlock(&s->lock);
    }
    if (!order.ok)
        *e = order.err;
    return order.ok;
}

// --- start and end -----------------------------------------------------------

// Allocates the instances, none of which has a process yet.
static bool make_instances(struct subject *s, struct err *e)
{
    // + 1, because calloc may return NULL for no items.
    s->tries = calloc(s->config.token_count + 1, sizeof *s->tries);
    if (!s->tries)
        return err_memory_for(e, "%zu tokens", s->config.token_count);
    s->instances = memory_zeroed((size_t)s->config.instances, sizeof *s->instances);
    for (int i = 0; i < s->config.instances; i++) {
        struct instance *in = &s->instances[i];
        in->pidfd = in->out = in->log = -1;
        in->pace.rate = READER_UNLIMITED;
        buf_init(&in->pending, READER_LINE_MAX);
        mock_sender_init(&in->sender, s->config.sender, s->config.jobs, s->config.seed, s->tries,
            s->config.token_count);
    }
    return true;
}

// Opens the logs of the instances. Without a folder they go to /dev/null, so in->log is always open
// and needs no check.
static bool open_logs(struct subject *s, struct err *e)
{
    for (int i = 0; i < s->config.instances; i++) {
        struct instance *in = &s->instances[i];
        char name[64], path[PATH_MAX] = "/dev/null";
        snprintf(name, sizeof name, "collector-%d.log", i);
        if (s->config.log_dir && !path_join(path, s->config.log_dir, name, e))
            return false;
        in->log = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        if (in->log < 0)
            return err_sys(e, ERR_SYSTEM, "cannot write %s", path);
    }
    return true;
}

struct subject *subject_start(const struct subject_config *config, struct err *e)
{
    struct subject *s = memory_zeroed(1, sizeof *s);

    s->config = *config;
    s->wake[0] = s->wake[1] = -1;
    pthread_mutex_init(&s->lock, NULL);
    if (!reader_init(&s->reader, config->key, config->token_count, e) || !make_instances(s, e) ||
        !open_logs(s, e))
        goto failed;
    s->reader.jobs = config->jobs;
    if (config->plan)
        s->reader.plan = *config->plan;
    if (pipe2(s->wake, O_CLOEXEC | O_NONBLOCK) != 0) {
        err_sys(e, ERR_SYSTEM, "cannot make a pipe");
        goto failed;
    }
    // Start the thread last, because it uses everything that was made above.
    if (pthread_create(&s->thread, NULL, serve_run, s) != 0) {
        err_set(e, ERR_SYSTEM, "cannot start a thread");
        goto failed;
    }
    s->started = true;
    return s;
failed:
    subject_free(s);
    return NULL;
}

void subject_stop(struct subject *s, int64_t grace_ns)
{
    if (!s || !s->started)
        return;
    pid_t *pids FREED_BY(memory_free) = memory_zeroed((size_t)s->config.instances, sizeof *pids);
    int64_t deadline = clock_now_ns() + grace_ns;

    pthread_mutex_lock(&s->lock);
    s->stopping = true;
    for (int i = 0; i < s->config.instances; i++)
        // A process that waits until a slow reader takes its output could not obey the signal.
        s->instances[i].pace.rate = READER_UNLIMITED;
    pthread_mutex_unlock(&s->lock);
    wake_up(s);
    subject_signal(s, -1, SIGTERM, pids);
    // A process that a fault has stopped with STOP obeys TERM only after CONT.
    subject_signal(s, -1, SIGCONT, pids);
    while (!serve_flag(s, &s->done) && clock_now_ns() < deadline)
        usleep(2000);
    pthread_mutex_lock(&s->lock);
    s->killing = true;
    pthread_mutex_unlock(&s->lock);
    subject_signal(s, -1, SIGKILL, pids);
    pthread_join(s->thread, NULL);
    s->started = false;
}

void subject_free(struct subject *s)
{
    if (!s)
        return;
    // Stop the thread first, because it uses everything that is freed below.
    subject_stop(s, 0);
    for (int i = 0; s->instances && i < s->config.instances; i++) {
        buf_fini(&s->instances[i].pending);
        mock_sender_fini(&s->instances[i].sender);
        if (s->instances[i].log >= 0)
            close(s->instances[i].log);
    }
    free(s->instances);
    free(s->tries);
    reader_fini(&s->reader);
    litter_fini(&s->litter);
    stalls_fini(&s->cost.stalls);
    if (s->wake[0] >= 0) {
        close(s->wake[0]);
        close(s->wake[1]);
    }
    pthread_mutex_destroy(&s->lock);
    free(s);
}
