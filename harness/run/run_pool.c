#include "run/run_pool.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "os/interrupt.h"
#include "os/paths.h"
#include "os/process.h"
#include "run/shared_server.h"
#include "run/runner.h"

static const int64_t job_limit_ns = 240 * NS_PER_S; // far more than any run of a few seconds takes
static const int64_t end_limit_ns = 40 * NS_PER_S;  // a worker first ends its run and its server
static const int64_t poll_ns = 100 * NS_PER_MS;

// A worker starts a new server after this many runs, because a server's folder grows with its WAL
// and its log.
#define RUNS_PER_SERVER 100

// --- in the worker ----------------------------------------------------------------------

// What a worker keeps from one job to the next.
struct worker_state {
    const struct run_pool *pool;
    struct server server;
    bool has_server; // shared_close is due
    int runs;        // number of runs on this server
};

// Ends the worker's server if there is one.
static void close_worker_server(struct worker_state *state)
{
    if (state->has_server)
        shared_close(&state->server);
    state->has_server = false;
    state->runs = 0;
}

// Makes sure that the worker's server runs. Starts another one if the last run left it stopped or
// paused, or if it has served RUNS_PER_SERVER runs.
static bool open_worker_server(struct worker_state *state, const struct scenario *s, struct err *e)
{
    if (state->has_server &&
        (!state->server.running || state->server.paused || state->runs >= RUNS_PER_SERVER))
        close_worker_server(state);
    if (state->has_server)
        return true;
    state->has_server = true; // after a failure, too, run_job closes it
    return shared_open(&state->server, s, state->pool->conninfo, e);
}

// Runs a job, on the worker's server if the scenario can use that one.
static bool run_job(struct worker_state *state, const struct run_pool_job *job,
    struct run_outcome *outcome, struct err *e)
{
    struct run_options how = {.collector = state->pool->collector,
        .postgres = state->pool->conninfo,
        .out = state->pool->out,
        .quiet = true,
        .silent = true,
        .count_trips = job->count_trips};
    struct scenario s;

    if (!scenario_load(&s, job->path, state->pool->sets, e))
        return false;
    // A fault may stop the worker's server, because the fault's end starts it again. But a run with
    // settings of its own needs a server of its own.
    bool shared = shared_can_carry(&s) && s.postgres.settings.count == 0;
    bool ok = !shared || open_worker_server(state, &s, e);
    if (ok && shared) {
        how.server = &state->server;
        state->runs++;
    }
    // Round trips are counted by a proxy, and only on the worker's server: in a run whose network
    // the kernel breaks, the collector is not connected through a proxy.
    how.count_trips = how.count_trips && shared;
    ok = ok && run_scenario(&s, &how, outcome, e);
    if (!ok)
        close_worker_server(state); // the server's state is unknown
    scenario_fini(&s);
    return ok;
}

// Takes jobs from the parent and answers them, until a signal, or until the parent closes the
// socket.
static void serve_jobs(const struct run_pool *pool, int fd)
{
    struct worker_state state = {.pool = pool};
    struct run_pool_job job;

    while (!interrupt_signal()) {
        struct run_pool_answer answer = {0};
        struct run_outcome outcome = {0};
        struct err e = {0};
        ssize_t got = recv(fd, &job, sizeof job, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got != (ssize_t)sizeof job)
            break;
        answer.number = job.number;
        if (run_job(&state, &job, &outcome, &e) && !interrupt_signal()) {
            snprintf(answer.folder, sizeof answer.folder, "%.*s", (int)sizeof answer.folder - 1,
                outcome.folder);
        } else {
            answer.kind = e.kind == ERR_NONE ? ERR_INTERRUPTED : e.kind;
            snprintf(answer.why, sizeof answer.why, "%.*s", (int)sizeof answer.why - 1, e.text);
        }
        // If the answer cannot be sent, the parent is gone, and nobody waits for further answers.
        if (send(fd, &answer, sizeof answer, MSG_NOSIGNAL) < 0)
            break;
    }
    close_worker_server(&state);
}

// Turns the forked process into a worker. Does not return.
static void become_worker(const struct run_pool *pool, int number, int fd, pid_t parent)
{
    char name[40], path[PATH_MAX];
    struct err ignored;

    // A worker has a process group of its own, so Ctrl-C does not reach it. The parent gets Ctrl-C
    // and ends the workers.
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    // If the parent ended before this call of prctl, no signal will come.
    if (getppid() != parent)
        _exit(0);
    for (int i = 0; i < pool->count; i++) {
        if (i != number && pool->workers[i].pid > 0)
            close(pool->workers[i].fd);
    }
    snprintf(name, sizeof name, "worker-%d.log", number);
    int log = path_join(path, pool->logs, name, &ignored)
                  ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)
                  : -1;
    if (log >= 0) {
        dup2(log, STDOUT_FILENO);
        dup2(log, STDERR_FILENO);
    }
    serve_jobs(pool, fd);
    fflush(NULL);
    _exit(0);
}

// --- in the parent ----------------------------------------------------------------------

// Forks worker `number`. The parent keeps one end of a SEQPACKET socket, on which each job and each
// answer arrives whole.
static bool start_worker(struct run_pool *pool, int number, struct err *e)
{
    struct run_pool_worker *w = &pool->workers[number];
    pid_t parent = getpid();
    int fds[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0)
        return err_sys(e, ERR_SYSTEM, "cannot make a socket for a worker");
    // The child gets a copy of stdio's buffers. If they were not empty, both would write them.
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        close(fds[0]);
        become_worker(pool, number, fds[1], parent);
    }
    close(fds[1]);
    if (pid < 0) {
        close(fds[0]);
        return err_sys(e, ERR_SYSTEM, "cannot start a worker");
    }
    *w = (struct run_pool_worker){.pid = pid, .fd = fds[0]};
    return true;
}

bool run_pool_start(struct run_pool *pool, int count, struct err *e)
{
    pool->count = count;
    for (int i = 0; i < count; i++) {
        if (!start_worker(pool, i, e))
            return false;
    }
    return true;
}

// Ends a worker's process, if there is one, by SIGTERM, and after end_limit_ns by SIGKILL.
static void end_worker(struct run_pool_worker *w)
{
    if (w->pid <= 0)
        return;
    close(w->fd);
    process_end(w->pid, SIGTERM, end_limit_ns);
    w->pid = 0;
}

void run_pool_end(struct run_pool *pool)
{
    for (int i = 0; i < pool->count; i++) {
        if (pool->workers[i].pid > 0)
            kill(pool->workers[i].pid, SIGTERM);
    }
    for (int i = 0; i < pool->count; i++)
        end_worker(&pool->workers[i]);
    pool->count = 0;
}

int run_pool_idle(const struct run_pool *pool)
{
    for (int i = 0; i < pool->count; i++) {
        if (!pool->workers[i].busy && pool->workers[i].pid > 0)
            return i;
    }
    return -1;
}

int run_pool_busy(const struct run_pool *pool)
{
    int busy = 0;

    for (int i = 0; i < pool->count; i++)
        busy += pool->workers[i].busy;
    return busy;
}

bool run_pool_lost(const struct run_pool *pool, struct err *e)
{
    for (int i = 0; i < pool->count; i++) {
        if (pool->workers[i].pid > 0)
            return false;
    }
    err_set(e, ERR_SYSTEM, "all workers have died: %s", pool->no_other.text);
    return true;
}

bool run_pool_give(struct run_pool *pool, int worker, const struct run_pool_job *job, struct err *e)
{
    struct run_pool_worker *w = &pool->workers[worker];

    w->job_number = job->number;
    w->busy = true;
    w->since_ns = clock_now_ns();
    if (send(w->fd, job, sizeof *job, MSG_NOSIGNAL) == (ssize_t)sizeof *job || errno == EPIPE)
        return true; // a worker that has died (EPIPE) is noticed when its answer is read
    return err_sys(e, ERR_SYSTEM, "cannot reach a worker");
}

// Ends a worker, starts another in its place, and answers its job with the error `why`.
static void replace_worker(
    struct run_pool *pool, int number, const char *why, struct run_pool_answer *answer)
{
    struct run_pool_worker *w = &pool->workers[number];

    *answer = (struct run_pool_answer){.number = w->job_number, .kind = ERR_INTERNAL};
    end_worker(w);
    w->busy = false; // the job is answered, even if no other worker can be started
    bool again = start_worker(pool, number, &pool->no_other);
    snprintf(
        answer->why, sizeof answer->why, "%s%s", why, again ? "" : "; no other can be started");
}

// Reads a busy worker's answer; false when the worker still works. A worker that has died or takes
// too long is replaced, and *answer says so.
static bool read_run_answer(struct run_pool *pool, int number, struct run_pool_answer *answer)
{
    struct run_pool_worker *w = &pool->workers[number];

    ssize_t got = recv(w->fd, answer, sizeof *answer, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        if (clock_now_ns() - w->since_ns < job_limit_ns)
            return false;
        replace_worker(pool, number, "the harness took too long over a run", answer);
        return true;
    }
    if (got != (ssize_t)sizeof *answer)
        replace_worker(pool, number, "the harness died in a run", answer);
    w->busy = false;
    return true;
}

bool run_pool_answer(struct run_pool *pool, int64_t deadline_ns, struct run_pool_answer *answer)
{
    struct pollfd fds[RUN_POOL_MAX];

    do {
        for (int i = 0; i < pool->count; i++) {
            fds[i] = (struct pollfd){
                .fd = pool->workers[i].busy ? pool->workers[i].fd : -1, .events = POLLIN};
            if (pool->workers[i].busy && read_run_answer(pool, i, answer))
                return true;
        }
        int64_t left_ns = clock_min(deadline_ns - clock_now_ns(), poll_ns);
        poll(fds, (nfds_t)pool->count, left_ns > 0 ? (int)(left_ns / NS_PER_MS) : 0);
    } while (clock_now_ns() < deadline_ns && !interrupt_signal());
    return false;
}
