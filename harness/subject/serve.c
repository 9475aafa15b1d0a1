// The loop of the subject's thread. The thread starts the processes, waits for their output and
// (with a pidfd for each) for their end, hands bytes to the reader, gives the mock sender's
// answers, and starts a process again 100 ms after it ended. Only this thread reaps processes.
// Other threads signal a process only under the lock, because once a process is reaped, its pid may
// be given to another one.
//
// The time at which a read returns is the time of a delivery. If the reader is late, the collector
// must not look late. So the thread also notes when it last found the pipe empty, and when it was
// late itself.
#include "subject/serve.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "os/process.h"
#include "subject/process_sample.h"

#define READ_CHUNK (256u << 10)
// Largest size of a log, which is what a collector writes to its standard error.
#define LOG_MAX ((off_t)256 << 20)
// How many bytes of one output are read before the other outputs have their turn.
#define TURN_MAX (4u << 20)

static const int64_t nap_most_ns = 20 * NS_PER_MS; // longest sleep; see serve_until_done
static const int64_t sample_every_ns = 500 * NS_PER_MS;

bool serve_flag(struct subject *s, const bool *flag)
{
    pthread_mutex_lock(&s->lock);
    bool value = *flag;
    pthread_mutex_unlock(&s->lock);
    return value;
}

void serve_give_up(struct subject *s, const struct err *why)
{
    pthread_mutex_lock(&s->lock);
    if (s->why.kind == ERR_NONE)
        s->why = *why;
    pthread_mutex_unlock(&s->lock);
}

void serve_fail(struct subject *s, const struct err *failure)
{
    pthread_mutex_lock(&s->lock);
    if (s->failure.kind == ERR_NONE)
        s->failure = *failure;
    pthread_mutex_unlock(&s->lock);
}

// Closes the descriptor of an instance's sender if the sender died, or a fault has killed it. Only
// this thread may close it. Returns the sender's mood.
static enum sender_mood update_sender(struct subject *s, struct instance *in)
{
    pthread_mutex_lock(&s->lock);
    enum sender_mood mood = in->mood;
    if (in->sender_killed)
        mock_sender_begin(&in->sender, -1);
    pthread_mutex_unlock(&s->lock);
    return mood;
}

// Returns what is known of the time of the bytes in `pending`: they were read by now, and written
// after the pipe was last found empty. The first seen_bytes of them were written by seen_ns, when
// the process was first told to end.
static struct reading reading_of(struct subject *s, struct instance *in, int64_t now)
{
    uint64_t before = atomic_load(&in->read) - in->pending.len; // number of bytes read before those
                                                                // of `pending`

    pthread_mutex_lock(&s->lock);
    struct reading reading = {.read_ns = now,
        .empty_ns = in->empty_ns,
        .seen_bytes = in->written_bytes > before ? (size_t)(in->written_bytes - before) : 0,
        .seen_ns = in->signalled_ns};
    pthread_mutex_unlock(&s->lock);
    return reading;
}

// Records the whole lines that have arrived, and draws the answers to them.
static void take_subject_lines(struct subject *s, struct instance *in, int64_t now)
{
    uint32_t line = (uint32_t)s->reader.log.line_count;
    struct reading reading = reading_of(s, in, now);
    uint64_t tokens = s->reader.tokens;

    reader_lines(&s->reader, &in->pending, in->process, &reading);
    atomic_fetch_add(&in->tokens, s->reader.tokens - tokens);
    if (!s->config.sender)
        return;
    enum sender_mood mood = update_sender(s, in);
    for (; line < s->reader.log.line_count; line++) {
        mock_sender_line(&in->sender, &s->reader.log, line, mood);
        // A queue must deliver refused jobs again, so they do not count as seen yet. A collector's
        // lines have no jobs.
        reader_refuse(&s->reader, line);
    }
}

// Notes that the sender died. If the collector then ends with exit code 74 or 78, this end counts
// as planned.
static void note_sender_death(struct subject *s, struct instance *in)
{
    pthread_mutex_lock(&s->lock);
    in->sender_killed = true;
    pthread_mutex_unlock(&s->lock);
}

// Gives the answers that are due. Returns when the next answer is due; CLOCK_NEVER: none is.
static int64_t give_due_answers(struct subject *s, int64_t now)
{
    int64_t next = CLOCK_NEVER;
    size_t unsaid = 0; // answers to come, and bytes of answers that the pipes have not taken

    for (int i = 0; s->config.sender && i < s->config.instances; i++) {
        struct instance *in = &s->instances[i];
        enum sender_mood mood = update_sender(s, in);
        if (mock_sender_say(&in->sender, &s->reader.log, mood, now))
            note_sender_death(s, in);
        unsaid += in->sender.fd >= 0 ? in->sender.count + in->sender.out.len : 0;
        next = clock_min(next, mock_sender_next_ns(&in->sender, mood));
    }
    atomic_store(&s->unsaid, unsaid);
    return next;
}

// Reads until the pipe is empty, but at most *limit bytes, and lowers *limit by the number of bytes
// read. Every line gets the time at which the read that completed it returned. False when nothing
// more is to be read: at the end of the file, or when the run ends because of this output.
static bool serve_drain_pipe(struct subject *s, struct instance *in, size_t *limit)
{
    while (*limit > 0) {
        size_t chunk = *limit < READ_CHUNK ? *limit : READ_CHUNK;
        char *room = buf_reserve(&in->pending, chunk);
        struct err e;
        // The buffer is at its limit, READER_LINE_MAX, and holds one unfinished line.
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
            // The read got nothing, so the pipe was empty when it was called.
            in->empty_ns = asked_ns;
            return got < 0; // 0: the end of the output
        }
        in->pending.len += (size_t)got;
        *limit -= (size_t)got;
        // These counters are read by other threads without the lock.
        atomic_fetch_add(&in->read, (uint64_t)got);
        atomic_fetch_add(&s->bytes, (uint64_t)got);
        take_subject_lines(s, in, now);
        // The read got less than it asked for, so it emptied the pipe. What is read later was
        // written after the call.
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

    // Read only what is there now: a process that goes on writing must not keep the thread here.
    ioctl(in->out, FIONREAD, &waiting);
    serve_drain_pipe(s, in, &(size_t){(size_t)waiting});
}

// Closes an output, as if its reader had gone away. The writer is stopped first, so that all that
// it has written is read before the output is closed.
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

// True when the output of a living process is to be closed.
static bool close_is_asked(struct subject *s, struct instance *in)
{
    pthread_mutex_lock(&s->lock);
    bool asked = in->close_asked && in->pid != 0;
    in->close_asked = asked; // forgets the request if the process has ended meanwhile, as there is
                             // no output to close
    pthread_mutex_unlock(&s->lock);
    return asked;
}

// Returns how many bytes of an output may be read now; SIZE_MAX: no limit. If the output has a
// rate, *next_ns is lowered to the time at which to look again.
static size_t read_allowance(struct subject *s, struct instance *in, int64_t now, int64_t *next_ns)
{
    const int64_t step_ns = 10 * NS_PER_MS;
    struct pace *p = &in->pace;

    pthread_mutex_lock(&s->lock);
    int64_t rate = p->rate;
    pthread_mutex_unlock(&s->lock);
    if (rate <= 0) { // READER_UNLIMITED is negative
        p->budget = 0;
        p->since_ns = now;
        return rate == 0 ? 0 : SIZE_MAX;
    }
    // Unused budget is saved for a tenth of a second only, and one byte more: otherwise a rate
    // below ten bytes per second would never save a whole byte.
    double most = (double)rate / 10 + 1;
    double grown = p->budget + (double)rate * (double)(now - p->since_ns) / 1e9;
    p->budget = grown < most ? grown : most;
    p->since_ns = now;
    *next_ns = clock_min(*next_ns, now + step_ns);
    return (size_t)p->budget;
}

// Kills a collector whose log has grown too large, and ends the run, so that the log cannot fill
// the disk.
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

// Samples the living processes if it is time to. Returns when the next samples are due.
static int64_t sample_if_due(struct subject *s, int64_t now, int64_t due_ns)
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

// True when the subject is stopping, no process lives and it is known what the processes have left.
static bool all_done(struct subject *s)
{
    pthread_mutex_lock(&s->lock);
    bool done = s->stopping && s->litter.count == 0;
    for (int i = 0; i < s->config.instances; i++)
        done = done && s->instances[i].pid == 0;
    pthread_mutex_unlock(&s->lock);
    return done;
}

// Serves each instance with its two poll entries: first its output, then its end. In this order,
// what a process wrote before it died is read before the process is reaped. asleep_ns: when the
// poll began.
static void serve_subject(struct subject *s, struct pollfd *fds, int64_t asleep_ns)
{
    for (int i = 0; i < s->config.instances; i++) {
        struct instance *in = &s->instances[i];
        const struct pollfd *output = &fds[2 * (size_t)i], *end = output + 1;
        // The poll watched this output and reported nothing, so it was empty at asleep_ns or later.
        if (output->events && !output->revents)
            in->empty_ns = asleep_ns;
        // When to look again does not matter here: fill_subject_poll asks again.
        size_t allowed = output->revents ? read_allowance(s, in, clock_now_ns(), &(int64_t){0}) : 0;
        // A limit for each turn: if one collector writes without a pause, the lines of the others
        // must not be read late.
        size_t share = allowed < TURN_MAX ? allowed : TURN_MAX, left = share;
        if (share > 0 && !serve_drain_pipe(s, in, &left))
            in->output_ended = true;
        // SIZE_MAX: the output has no rate, so there is no budget to lower.
        if (allowed != SIZE_MAX)
            in->pace.budget -= (double)(share - left);
        if (close_is_asked(s, in))
            close_output(s, in);
        // The pidfd reports that the process has ended.
        if (end->revents)
            in->gone_ns = clock_now_ns();
        if (in->gone_ns && exits_may_reap(s, in))
            exits_reap(s, in);
    }
}

// Fills in two poll entries for each instance, in the order in which serve_subject() reads them,
// and an entry for the pipe with which other threads wake this one. Returns when the thread must
// look again even without an event.
static int64_t fill_subject_poll(struct subject *s, struct pollfd *fds, int64_t now)
{
    int64_t next = CLOCK_NEVER;

    for (int i = 0; i < s->config.instances; i++) {
        struct instance *in = &s->instances[i];
        // Leave out an output that its process has closed, and one that must not be read now. Poll
        // would report them as ready at once, again and again. An ended process's output stays in
        // for POLLHUP alone, which says that the rest of its group has closed the output.
        bool ready = !in->output_ended && read_allowance(s, in, now, &next) > 0;
        bool gone = in->gone_ns != 0;
        *fds++ = (struct pollfd){.fd = ready || gone ? in->out : -1, .events = ready ? POLLIN : 0};
        *fds++ = (struct pollfd){.fd = gone ? -1 : in->pidfd, .events = POLLIN};
        if (gone)
            next = clock_min(next, in->gone_ns + EXITS_GRACE_NS);
    }
    *fds = (struct pollfd){.fd = s->wake[0], .events = POLLIN};
    return next;
}

// The loop: starts what is due, sleeps until something happens, and serves the outputs and ends of
// the processes, until all is done.
static void serve_until_done(struct subject *s)
{
    size_t count = 2 * (size_t)s->config.instances + 1;
    struct pollfd *fds FREED_BY(memory_free) = memory_zeroed(count, sizeof *fds);
    int64_t sample_at_ns = 0;
    char bytes[64];

    while (!all_done(s)) {
        int64_t now = clock_now_ns();
        int64_t next = serve_flag(s, &s->stopping) ? CLOCK_NEVER : start_due(s, now);
        sample_at_ns = sample_if_due(s, now, sample_at_ns);
        if (s->litter.count > 0 && now >= s->litter_ns)
            s->litter_ns = litter_look(&s->litter, &s->reader.log, now);
        if (s->litter.count > 0)
            next = clock_min(next, s->litter_ns);
        next = clock_min(next, sample_at_ns);
        next = clock_min(next, give_due_answers(s, now));
        next = clock_min(next, fill_subject_poll(s, fds, now));
        int64_t asleep_ns = clock_now_ns();
        // Sleep for nap_most_ns at most. Within a longer sleep, a poll that wakes late for output
        // could not be told from one that had nothing to wake for.
        next = clock_min(next, asleep_ns + nap_most_ns);
        if (poll(fds, count, clock_poll_ms(asleep_ns, next)) < 0)
            continue;
        int64_t woke_ns = clock_now_ns();
        // The poll woke too late. Output may have been there since the thread fell asleep.
        if (woke_ns - asleep_ns > nap_most_ns + STALLS_LEAST_NS)
            stalls_note(&s->cost.stalls, asleep_ns, woke_ns);
        // Empty the pipe with which other threads wake this one; its bytes mean nothing.
        while (read(s->wake[0], bytes, sizeof bytes) > 0)
            ;
        serve_subject(s, fds, asleep_ns);
        new_log_make(s);
        int64_t done_ns = clock_now_ns();
        s->cost.serving_ns += done_ns - woke_ns;
        stalls_note(&s->cost.stalls, woke_ns, done_ns);
    }
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
