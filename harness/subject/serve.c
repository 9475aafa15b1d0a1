// The subject's thread. It starts the processes, waits for output and deaths (a pidfd each), hands
// bytes to the reader, gives the mock sender's answers, and starts a process again 100 ms after it
// ended. Other threads may only ask it to signal a process, because a pid may be somebody else's
// once its process was reaped, and only this thread reaps.
//
// The time at which a read returns is the time of a delivery. So the thread also notes when it
// last found the pipe empty, and when it was late itself: a late reader must not make a collector
// late.
#include "subject/serve.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/process.h"
#include "subject/process_sample.h"

#define READ_CHUNK (256u << 10)
#define LOG_MAX ((off_t)256 << 20) // size of a log: what a collector writes to its standard error
#define TURN_MAX (4u << 20) // bytes of one output that are read before the others have their turn

static const int64_t nap_most_ns = 20 * NS_PER_MS; // longest sleep, short enough to notice a poll
                                                   // that wakes too late
static const int64_t sample_every_ns = 500 * NS_PER_MS;

void serve_give_up(struct subject *s, const struct err *why)
{
    pthread_mutex_lock(&s->lock);
    if (!s->gave_up)
        s->why = *why;
    s->gave_up = true;
    pthread_mutex_unlock(&s->lock);
}

void serve_fail(struct subject *s, const struct err *failure)
{
    pthread_mutex_lock(&s->lock);
    if (!s->failed)
        s->failure = *failure;
    s->failed = true;
    pthread_mutex_unlock(&s->lock);
}

static enum sender_mood mood_of(struct subject *s, struct instance *in)
{
    pthread_mutex_lock(&s->lock);
    enum sender_mood mood = in->mood;
    if (in->sender_killed)
        mock_sender_begin(&in->sender, -1);
    pthread_mutex_unlock(&s->lock);
    return mood;
}

static struct reading reading_of(struct subject *s, struct instance *in, int64_t now)
{
    uint64_t before = atomic_load(&in->read) - in->pending.len; // bytes before those of `pending`

    pthread_mutex_lock(&s->lock);
    struct reading reading = {.read_ns = now,
        .empty_ns = in->empty_ns,
        .seen_bytes = in->seen_bytes > before ? (size_t)(in->seen_bytes - before) : 0,
        .seen_ns = in->seen_ns};
    pthread_mutex_unlock(&s->lock);
    return reading;
}

// Records the whole lines that have arrived, and draws the answers to them.
static bool take_subject_lines(struct subject *s, struct instance *in, int64_t now)
{
    uint32_t line = (uint32_t)s->reader.log.line_count;
    struct reading reading = reading_of(s, in, now);
    bool ok = reader_lines(&s->reader, &in->pending, in->process, &reading);

    if (!s->config.sender)
        return ok;
    enum sender_mood mood = mood_of(s, in);
    for (; ok && line < s->reader.log.line_count; line++) {
        ok = mock_sender_line(&in->sender, &s->reader.log, line, mood);
        reader_refuse(&s->reader, line);
    }
    return ok;
}

// Notes that the sender died, so that the end of its process counts as planned.
static void note_death(struct subject *s, struct instance *in)
{
    pthread_mutex_lock(&s->lock);
    in->sender_killed = true;
    pthread_mutex_unlock(&s->lock);
}

// Gives the answers that are due. Returns the time of the next one.
static int64_t answer_due(struct subject *s, int64_t now)
{
    int64_t next = CLOCK_NEVER;
    size_t unsaid = 0;

    for (int i = 0; s->config.sender && i < s->config.instances; i++) {
        struct instance *in = &s->instances[i];
        enum sender_mood mood = mood_of(s, in);
        if (mock_sender_say(&in->sender, &s->reader.log, mood, now))
            note_death(s, in);
        unsaid += in->sender.fd >= 0 ? in->sender.count + in->sender.out.len : 0;
        next = clock_min(next, mock_sender_next_ns(&in->sender, mood));
    }
    atomic_store(&s->unsaid, unsaid);
    return next;
}

// Reads until the pipe is empty, but at most *most bytes, and lowers *most by their number. Every
// line gets the time at which its read returned. Returns false at the end of the file.
static bool serve_drain_pipe(struct subject *s, struct instance *in, size_t *most)
{
    while (*most > 0) {
        size_t chunk = *most < READ_CHUNK ? *most : READ_CHUNK;
        char *room = buf_reserve(&in->pending, chunk);
        struct err e;
        // The buffer's cap is the longest line.
        if (!room) {
            err_set(&e, ERR_OUTPUT, "the collector wrote %u MiB without a newline",
                READER_LINE_MAX >> 20);
            serve_give_up(s, &e);
            return false;
        }
        int64_t asked_ns = clock_now_ns();
        ssize_t got = read(in->out, room, chunk);
        int64_t now = clock_now_ns();
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            // Before this call there was nothing in the pipe.
            in->empty_ns = asked_ns;
            return got < 0;
        }
        in->pending.len += (size_t)got;
        *most -= (size_t)got;
        // These counters are read by other threads without the lock.
        atomic_fetch_add(&in->read, (uint64_t)got);
        atomic_fetch_add(&s->bytes, (uint64_t)got);
        if (!take_subject_lines(s, in, now)) {
            err_memory(&e);
            serve_fail(s, &e);
            return false;
        }
        // The writer may have added a line since this read, but not before it.
        if ((size_t)got < chunk)
            in->empty_ns = asked_ns;
        atomic_store(&s->tokens, s->reader.tokens);
        if (reader_is_flooded(&s->reader, &e)) {
            serve_give_up(s, &e);
            return false;
        }
    }
    return true;
}

void serve_empty_pipe(struct subject *s, struct instance *in)
{
    int waiting = 0;

    // Only what is there now: a process that still writes must not keep the thread here.
    ioctl(in->out, FIONREAD, &waiting);
    serve_drain_pipe(s, in, &(size_t){(size_t)waiting});
}

// Closes an output, as if its reader had gone away. The writer is stopped first, so that all bytes
// that it has written are read before the output is closed.
static void close_output(struct subject *s, struct instance *in)
{
    process_signal_group(in->pid, SIGSTOP);
    process_wait_group_stopped(in->pid, clock_now_ns() + SERVE_STOPPED_NS);
    serve_empty_pipe(s, in);
    pthread_mutex_lock(&s->lock);
    close(in->out);
    in->out = -1;
    in->closed = true;
    in->close_asked = false;
    pthread_mutex_unlock(&s->lock);
    process_signal_group(in->pid, SIGCONT);
}

static bool close_is_asked(struct subject *s, struct instance *in)
{
    pthread_mutex_lock(&s->lock);
    bool asked = in->close_asked && in->pid != 0;
    in->close_asked = asked; // a process that has ended meanwhile has no output to close
    pthread_mutex_unlock(&s->lock);
    return asked;
}

// Returns how many bytes of an output may be read now, and lowers *next_ns to the time to look
// again.
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
    // An unused budget is not saved up for longer than a tenth of a second.
    p->budget = p->budget > (double)rate / 10 + 1 ? (double)rate / 10 + 1 : p->budget;
    p->since_ns = now;
    *next_ns = clock_min(*next_ns, now + step_ns);
    return (size_t)p->budget;
}

// Gives up on a collector whose log would fill the disk.
static void limit_log(struct subject *s, struct instance *in)
{
    struct stat log;
    struct err e;

    if (fstat(in->log, &log) != 0 || log.st_size <= LOG_MAX)
        return;
    err_set(&e, ERR_OUTPUT, "the collector wrote more than %d MiB to its standard error",
        (int)(LOG_MAX >> 20));
    serve_give_up(s, &e);
    process_signal_group(in->pid, SIGKILL);
}

// Samples the living processes. Returns when to look again.
static int64_t sample_due(struct subject *s, int64_t now, int64_t due_ns)
{
    if (now < due_ns)
        return due_ns;
    for (int i = 0; i < s->config.instances; i++) {
        struct instance *in = &s->instances[i];
        struct process_sample sample = {.at_ns = now, .process = in->process};
        if (in->pid)
            limit_log(s, in);
        if (in->pid && process_sample_read(in->pid, &sample))
            reader_add_sample(&s->reader, &sample);
    }
    return now + sample_every_ns;
}

static bool all_done(struct subject *s)
{
    pthread_mutex_lock(&s->lock);
    bool done = s->stopping && s->litter.count == 0;
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

// Serves two poll entries for each instance: its output, then its end. The end comes last, so that
// everything that a process wrote before it died is read before the process is reaped.
static void serve_subject(struct subject *s, struct pollfd *fds, int64_t asleep_ns)
{
    for (int i = 0; i < s->config.instances; i++) {
        struct instance *in = &s->instances[i];
        // The poll looked at this output after asleep_ns, and nothing was there.
        if (fds[2 * (size_t)i].events && !fds[2 * (size_t)i].revents)
            in->empty_ns = asleep_ns;
        size_t most =
            fds[2 * (size_t)i].revents ? may_read(s, in, clock_now_ns(), &(int64_t){0}) : 0;
        // One collector that writes without a pause must not make the others look late.
        size_t turn = most < TURN_MAX ? most : TURN_MAX, left = turn;
        if (turn > 0 && !serve_drain_pipe(s, in, &left))
            in->ended = true;
        if (most != SIZE_MAX)
            in->pace.budget -= (double)(turn - left);
        if (close_is_asked(s, in))
            close_output(s, in);
        if (fds[2 * (size_t)i + 1].revents)
            in->gone_ns = clock_now_ns();
        if (in->gone_ns && exits_may_reap(s, in))
            exits_reap(s, in);
    }
}

// Fills in two entries per instance, as serve_subject() reads them, and the one that wakes the
// thread. Returns when an instance is due at the latest.
static int64_t fill_subject_poll(struct subject *s, struct pollfd *fds, int64_t now)
{
    int64_t next = CLOCK_NEVER;

    for (int i = 0; i < s->config.instances; i++) {
        struct instance *in = &s->instances[i];
        // An output that its process has closed would be ready for ever, as
        // would one that is not to be read now.
        bool ready = !in->ended && may_read(s, in, now, &next) > 0;
        bool gone = in->gone_ns != 0;
        *fds++ = (struct pollfd){.fd = ready || gone ? in->out : -1, .events = ready ? POLLIN : 0};
        *fds++ = (struct pollfd){.fd = gone ? -1 : in->pidfd, .events = POLLIN};
        if (gone)
            next = clock_min(next, in->gone_ns + EXITS_GRACE_NS);
    }
    *fds = (struct pollfd){.fd = s->wake[0], .events = POLLIN};
    return next;
}

static void serve_until_done(struct subject *s)
{
    size_t count = 2 * (size_t)s->config.instances + 1;
    struct pollfd *fds = calloc(count, sizeof *fds);
    int64_t sample_at_ns = 0;
    char bytes[64];
    struct err e;

    if (!fds) {
        err_memory(&e);
        serve_fail(s, &e);
        return;
    }
    while (!all_done(s)) {
        int64_t now = clock_now_ns();
        int64_t next = is_stopping(s) ? CLOCK_NEVER : start_due(s, now);
        sample_at_ns = sample_due(s, now, sample_at_ns);
        if (s->litter.count > 0 && now >= s->litter_ns)
            s->litter_ns = litter_look(&s->litter, &s->reader.log, now);
        if (s->litter.count > 0)
            next = clock_min(next, s->litter_ns);
        next = clock_min(next, sample_at_ns);
        next = clock_min(next, answer_due(s, now));
        next = clock_min(next, fill_subject_poll(s, fds, now));
        int64_t asleep_ns = clock_now_ns();
        // A sleep that may last long could be late by as much without anybody noticing.
        next = clock_min(next, asleep_ns + nap_most_ns);
        if (poll(fds, count, clock_poll_ms(asleep_ns, next)) < 0)
            continue;
        int64_t woke_ns = clock_now_ns();
        // The poll woke too late, and the output may have been there since the reader fell asleep.
        if (woke_ns - asleep_ns > nap_most_ns + STALLS_LEAST_NS)
            stalls_note(&s->cost.stalls, asleep_ns, woke_ns);
        while (read(s->wake[0], bytes, sizeof bytes) > 0)
            ;
        serve_subject(s, fds, asleep_ns);
        turn_make(s);
        int64_t done_ns = clock_now_ns();
        s->cost.serving_ns += done_ns - woke_ns;
        stalls_note(&s->cost.stalls, woke_ns, done_ns);
    }
    free(fds);
}

void *serve_run(void *arg)
{
    struct subject *s = arg;

    serve_until_done(s);
    pthread_mutex_lock(&s->lock);
    s->done = true;
    pthread_mutex_unlock(&s->lock);
    return NULL;
}
