#include "load/producer.h"

#include <fcntl.h>
#include <signal.h>

#include "os/other_user.h"
#include "os/process.h"

#define TO_SEND_MAX ((size_t)16 << 20)
#define RECEIVED_MAX ((size_t)1 << 20)
// The loop reads about this many bytes at most before it does its other work.
#define ROUND_MAX ((size_t)256 << 10)
#define PUT_LEN_MAX 32 // bytes of the longest line "put N"

static const int64_t restart_pause_ns = 100 * NS_PER_MS;
static const int64_t end_grace_ns = 2 * NS_PER_S;

struct producer {
    const struct load_config *config;
    struct load_progress *progress;
    struct load_result *result;
    pid_t pid;   // 0: no process runs at the moment
    int in, out; // our ends of the pipes at its standard input and output; -1: closed
    int64_t restart_at_ns;
    size_t next, ended;  // index of the next transaction to put; number of those with an outcome
    size_t oldest;       // all transactions before this one have an outcome
    struct buf to_send;  // lines for which the pipe to the client had no room yet
    struct buf received; // an unfinished line of the client
};

// Records the outcome of a job.
static void finish_producer_txn(
    struct producer *p, size_t txn, enum txn_outcome outcome, int64_t now)
{
    struct txn_record *r = &p->result->records[txn];

    r->outcome = outcome;
    r->ended_ns = now;
    p->ended++;
    if (outcome == TXN_COMMITTED) {
        atomic_fetch_add(&p->progress->committed, 1);
        atomic_fetch_add(&p->progress->tokens, 1);
    } else {
        atomic_fetch_add(&p->progress->failed, 1);
    }
}

// Records as unknown the jobs that were begun and not answered: they may have been put or not.
static void give_up_unanswered(struct producer *p, int64_t now)
{
    for (size_t i = p->oldest; i < p->next; i++) {
        if (p->result->records[i].ended_ns == 0)
            finish_producer_txn(p, i, TXN_UNKNOWN, now);
    }
    p->oldest = p->next;
}

// --- the process ------------------------------------------------------------------------

// Starts the client, with pipes for its input and output. The harness's ends do not block.
static bool start_producer(struct producer *p, struct err *e)
{
    struct process_spec spec = PROCESS_SPEC_INIT;
    int in[2], out[2];

    // With O_CLOEXEC no other child keeps an end open. If a collector inherited one, the client
    // would never see the end of its input.
    if (pipe2(in, O_CLOEXEC) != 0)
        return err_sys(e, ERR_SYSTEM, "cannot make a pipe");
    if (pipe2(out, O_CLOEXEC) != 0) {
        close(in[0]);
        close(in[1]);
        return err_sys(e, ERR_SYSTEM, "cannot make a pipe");
    }
    fcntl(in[1], F_SETFL, O_NONBLOCK);
    fcntl(out[0], F_SETFL, O_NONBLOCK);
    spec.argv = p->config->producer->argv;
    spec.env = p->config->producer->env;
    spec.dir = p->config->producer->dir;
    spec.in = in[0];
    spec.out = out[1];
    spec.err = p->config->producer->log;
    // The kernel ends the client if the harness is killed.
    spec.death_signal = SIGKILL;
    pid_t pid = other_user_apply(&spec, e) ? process_start(&spec, e) : -1;
    close(in[0]);
    close(out[1]);
    if (pid < 0) {
        close(in[1]);
        close(out[0]);
        return false;
    }
    p->pid = pid;
    p->in = in[1];
    p->out = out[0];
    return true;
}

// Ends the client: closes its input, sends TERM, and kills it if it still runs after grace_ns.
static void end_producer(struct producer *p, int64_t grace_ns)
{
    if (!p->pid)
        return;
    if (p->in >= 0)
        close(p->in);
    close(p->out);
    process_end(p->pid, SIGTERM, grace_ns);
    kill(-p->pid, SIGKILL); // the processes that the client has started
    p->pid = 0;
    p->in = p->out = -1;
    buf_clear(&p->to_send);
    buf_clear(&p->received);
}

// Ends a client whose output has ended or cannot be read. It is started again a little later, as a
// service manager would do.
static void end_and_restart_later(struct producer *p, int64_t now)
{
    end_producer(p, 0);
    give_up_unanswered(p, now);
    p->restart_at_ns = now + restart_pause_ns;
}

// --- lines ------------------------------------------------------------------------------

// Handles one line of the client: "put-ok N" says that job N is committed; any other line counts as
// a refusal.
static void handle_put_answer(struct producer *p, const char *line, int64_t now)
{
    const struct plan *plan = p->config->plan;
    unsigned token;
    int parsed = 0;

    if (sscanf(line, "put-ok %9u%n", &token, &parsed) != 1 || line[parsed] ||
        token >= plan->token_count) {
        // All wrong lines are counted. The first one is kept, to show what the client does wrong.
        if (p->result->refused++ == 0)
            snprintf(p->result->refusal, sizeof p->result->refusal,
                "the producer wrote '%.60s', which is not 'put-ok N'", line);
        return;
    }
    // The answers come nearly in order, so the search from the oldest open job ends after a few
    // steps.
    for (size_t i = p->oldest; i < p->next; i++) {
        if (plan->txns[i].first_token != token)
            continue;
        // A second answer for the same job changes nothing.
        if (p->result->records[i].ended_ns == 0)
            finish_producer_txn(p, i, TXN_COMMITTED, now);
        break;
    }
    while (p->oldest < p->next && p->result->records[p->oldest].ended_ns != 0)
        p->oldest++;
}

// Handles the whole lines in `received`; an unfinished line stays there.
static void handle_put_answers(struct producer *p, int64_t now)
{
    size_t done = 0;

    while (done < p->received.len) {
        char *line = p->received.data + done;
        char *newline = memchr(line, '\n', p->received.len - done);
        if (!newline)
            break;
        *newline = '\0';
        done += (size_t)(newline - line) + 1;
        handle_put_answer(p, line, now);
    }
    buf_consume(&p->received, done);
}

// Reads what the client has written and handles it. Stops after about ROUND_MAX bytes, because the
// client may write faster than this loop reads. Returns false at the end of the client's output,
// when it cannot be read, or when a line is longer than RECEIVED_MAX.
static bool read_producer_answers(struct producer *p)
{
    const size_t chunk = 4096;

    for (size_t done = 0; done < ROUND_MAX;) {
        char *room = buf_reserve(&p->received, chunk);
        ssize_t got = room ? read(p->out, room, chunk) : 0;
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return errno == EAGAIN; // nothing more is there now
        if (got == 0)
            return false;
        p->received.len += (size_t)got;
        done += (size_t)got;
        handle_put_answers(p, clock_now_ns());
    }
    return true;
}

// Writes as much of `to_send` as the pipe takes; the rest stays for the next call.
static void write_puts(struct producer *p)
{
    while (p->in >= 0 && p->to_send.len > 0) {
        ssize_t n = write(p->in, p->to_send.data, p->to_send.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EPIPE) {
            // The client reads no more. When it has ended, its output will end, too.
            close(p->in);
            p->in = -1;
        }
        if (n <= 0) // the pipe is full or closed
            return;
        buf_consume(&p->to_send, (size_t)n);
    }
}

// --- the loop ---------------------------------------------------------------------------

static int64_t producer_due_ns(const struct producer *p)
{
    const struct load_config *c = p->config;

    return p->next < c->end ? c->start_ns + c->plan->txns[p->next].at_ns : CLOCK_NEVER;
}

static bool is_send_buffer_full(const struct producer *p)
{
    return p->to_send.len > TO_SEND_MAX - PUT_LEN_MAX;
}

// Appends a line to `to_send` for each job that is due. A job that falls due while no process runs,
// or while `to_send` is full, is put late.
static void put_due_jobs(struct producer *p, int64_t now)
{
    for (; p->pid && producer_due_ns(p) <= now && !is_send_buffer_full(p); p->next++) {
        struct txn_record *r = &p->result->records[p->next];
        buf_printf(&p->to_send, "put %u\n", p->config->plan->txns[p->next].first_token);
        r->sent_ns = r->commit_ns = clock_now_ns(); // the client may commit at once
        atomic_fetch_add(&p->progress->sent, 1);
    }
}

// Waits as load_wait does until an answer comes or something is due, and handles the answers.
// Returns the time at which the wait ended. woke_ns: that of the wait before this one.
static int64_t wait_for_answers(struct producer *p, int64_t woke_ns)
{
    struct pollfd fds[] = {{.fd = p->out, .events = POLLIN},
        {.fd = p->to_send.len > 0 ? p->in : -1, .events = POLLOUT}};
    // Without a process there is nothing to do before its restart: due jobs must wait for it. While
    // `to_send` is full, they wait until the process reads.
    int64_t until_ns = !p->pid                  ? p->restart_at_ns
                       : is_send_buffer_full(p) ? CLOCK_NEVER
                                                : producer_due_ns(p);

    woke_ns = load_wait(&p->result->stalls, fds, 2, until_ns, woke_ns);
    if (p->pid && fds[0].revents && !read_producer_answers(p))
        end_and_restart_later(p, woke_ns);
    return woke_ns;
}

// Runs the loop until every job has an outcome, the deadline has passed, or another thread stops
// the load. False when the client cannot be started.
static bool drive_producer(struct producer *p, struct err *e)
{
    const struct load_config *c = p->config;
    int64_t now = clock_now_ns();

    while (
        p->ended < c->end - c->first && !atomic_load(&p->progress->stop) && now <= c->deadline_ns) {
        if (!p->pid && now >= p->restart_at_ns && !start_producer(p, e))
            return false;
        put_due_jobs(p, now);
        if (p->pid)
            write_puts(p);
        now = wait_for_answers(p, now);
    }
    give_up_unanswered(p, now);
    return true;
}

bool producer_run(const struct load_config *config, struct load_progress *progress,
    struct load_result *result, struct err *e)
{
    struct producer p = {.config = config,
        .progress = progress,
        .result = result,
        .in = -1,
        .out = -1,
        .next = config->first,
        .oldest = config->first};

    if (!load_result_begin(result, config->plan, e))
        return false;
    buf_init(&p.to_send, TO_SEND_MAX);
    buf_init(&p.received, RECEIVED_MAX);
    bool ok = drive_producer(&p, e);
    end_producer(&p, end_grace_ns);
    buf_fini(&p.to_send);
    buf_fini(&p.received);
    return ok;
}
