// The generator: one loop in one thread over all connections.
//
// It is an open loop. A transaction keeps its intended time and is sent late when no connection is
// free or the server is slow or away. A generator that waited for answers would send less just when
// the server is slow, and so hide the waiting that users would have (coordinated omission). In a
// closed loop (`rate: max`) everything is due at once, until the phase is over.
//
// A dead connection is opened again at once, but its transaction is never sent twice: it may have
// committed, and a second one would be another token. If its COMMIT was sent, its outcome is
// unknown until the database is asked (ledger/ledger_settle.c).
//
// The loop records its own stalls, because a generator that did not get the processor measures
// itself and not the collector. check/gates.c decides what stalls, lag and unsent inserts mean for
// the verdict.
#include "load/load.h"

#include <time.h>

#include "load/change.h"
#include "load/conn.h"
#include "load/producer.h"

static bool load_init(struct load *l, struct pollfd **fds, struct err *e);
static void drive_conns(struct load *l, struct pollfd *fds);

bool load_run(const struct load_config *config, struct load_progress *progress,
    struct load_result *result, struct err *e)
{
    struct load l = {.config = config, .progress = progress, .result = result};
    struct pollfd *fds FREED_BY(memory_free) = NULL;
    struct timespec cpu = {0};

    if (config->producer)
        return producer_run(config, progress, result, e);
    bool ok = load_result_begin(result, config->plan, e) && load_init(&l, &fds, e);
    if (ok) {
        drive_conns(&l, fds);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
        const long us = cpu.tv_nsec / 1000; // cut to whole µs, as the history stores it
        result->cpu_s = (double)cpu.tv_sec + (double)us / 1e6;
    }
    free(l.conns);
    free(l.phase_end_ns);
    free(l.insert_of);
    free(l.reactivations);
    buf_fini(&l.scratch);
    return ok;
}

bool load_result_begin(struct load_result *result, const struct plan *plan, struct err *e)
{
    stalls_fini(&result->stalls);
    *result = (struct load_result){.records = result->records, .changes = result->changes};
    // One more than needed, because calloc may return NULL for a plan without changes.
    if (!result->records)
        result->records = calloc(plan->txn_count + 1, sizeof *result->records);
    if (!result->changes)
        result->changes = calloc(plan->change_count + 1, sizeof *result->changes);
    return (result->records && result->changes) ||
           err_memory_for(e, "%zu transactions", plan->txn_count);
}

void load_result_fini(struct load_result *result)
{
    free(result->records);
    free(result->changes);
    stalls_fini(&result->stalls);
    *result = (struct load_result){0};
}

// Allocates the connections, an array for poll(2) in *fds, and the end of each phase. False when
// memory is short; load_run frees what was allocated.
static bool load_init(struct load *l, struct pollfd **fds, struct err *e)
{
    const struct scenario *s = l->config->scenario;
    int64_t end_ns = l->config->start_ns;

    buf_init(&l->scratch, 4 << 20); // more than the names of 1,000 rows, the longest transaction
    l->phase_end_ns = memory_zeroed(s->load_count, sizeof *l->phase_end_ns);
    // The phases share the connections. There are as many as the most demanding phase needs.
    for (size_t i = 0; i < s->load_count; i++) {
        size_t wanted = (size_t)s->load[i].connections;
        l->conn_count = wanted > l->conn_count ? wanted : l->conn_count;
        l->phase_end_ns[i] = end_ns += s->load[i].for_ns;
    }
    l->next = l->config->first;
    l->conns = memory_zeroed(l->conn_count, sizeof *l->conns);
    *fds = memory_zeroed(l->conn_count, sizeof **fds);
    return change_find_inserts(l, e);
}

static const struct load_phase *next_txn_phase(const struct load *l)
{
    return &l->config->scenario->load[l->config->plan->txns[l->next].phase];
}

// Moves `next` past the transactions that other generators send. They count as ended, because
// is_over compares l->ended with the number of all transactions of the range.
static void skip_others(struct load *l)
{
    const struct load_config *c = l->config;

    while (c->part.of > 1 && l->next < c->end && l->next % c->part.of != c->part.part) {
        l->next++;
        l->ended++;
    }
}

// Moves `next` past the inserts of closed loops whose phase is over. The plan of a closed loop has
// more inserts than the loop can send, so they need not be sent. The backlog is never skipped,
// because the run counts on every row of it.
static void skip_ended_phases(struct load *l, int64_t now)
{
    const struct plan *plan = l->config->plan;

    while (l->next < l->config->end && next_txn_phase(l)->closed &&
           !(plan->txns[l->next].flags & TXN_BACKLOG) &&
           now >= l->phase_end_ns[plan->txns[l->next].phase]) {
        l->result->records[l->next++].outcome = TXN_NOT_NEEDED;
        l->ended++;
    }
}

static int64_t next_txn_due_ns(const struct load *l)
{
    const struct plan *plan = l->config->plan;

    return l->next < l->config->end ? l->config->start_ns + plan->txns[l->next].at_ns : CLOCK_NEVER;
}

// Returns how many connections the phase of the next transaction may use.
static size_t allowed_conns(const struct load *l)
{
    return l->next < l->config->end ? (size_t)next_txn_phase(l)->connections : 0;
}

// True when this part of the plan makes the changes: the part up to the plan's end does. The part
// before it is the backlog, whose tokens are never changed.
static bool makes_changes(const struct load *l)
{
    return l->config->end == l->config->plan->txn_count;
}

static bool is_over(const struct load *l)
{
    return l->ended == l->config->end - l->config->first &&
           (!makes_changes(l) || l->changes_ended == l->config->plan->change_count);
}

// Opens connections, ends held transactions, and sends changes and transactions, as far as they are
// due. Returns when something is due next.
static int64_t do_due_work(struct load *l, int64_t now)
{
    int64_t next = CLOCK_NEVER;
    bool free_conn = false; // a connection is left for the next transaction

    skip_others(l);
    skip_ended_phases(l, now);
    for (size_t i = 0; i < l->conn_count; i++) {
        struct conn *c = &l->conns[i];
        if (c->state == CONN_DOWN && now >= c->until_ns)
            conn_open(l, c, now);
        if (c->state == CONN_HOLDING && now >= c->until_ns)
            conn_end_hold(l, c, now);
        if (c->state == CONN_IDLE && makes_changes(l)) {
            size_t change = change_due(l, now);
            if (change != SIZE_MAX)
                conn_begin_change(l, c, change, clock_now_ns());
            next = clock_min(next, change_due_ns(l));
        }
        if (c->state == CONN_IDLE && i < allowed_conns(l)) {
            // The time of sending is read anew: when this loop sends many transactions, the last
            // one is sent noticeably after `now`.
            if (next_txn_due_ns(l) <= now) {
                conn_begin(l, c, l->next++, clock_now_ns());
                skip_others(l);
            } else {
                free_conn = true;
            }
        }
        if (c->state == CONN_DOWN || c->state == CONN_HOLDING || c->state == CONN_CONNECTING)
            next = clock_min(next, c->until_ns);
    }
    // Without a free connection the next transaction cannot be sent at its time. It waits until a
    // connection has an event.
    return free_conn ? clock_min(next, next_txn_due_ns(l)) : next;
}

int64_t load_wait(
    struct stalls *s, struct pollfd *fds, size_t count, int64_t until_ns, int64_t woke_ns)
{
    const int64_t longest_ns = 50 * NS_PER_MS;
    int64_t now = clock_now_ns();

    stalls_note(s, woke_ns, now);
    int64_t nap = clock_min(until_ns > now ? until_ns - now : 0, longest_ns);
    struct timespec timeout = {.tv_sec = nap / NS_PER_S, .tv_nsec = nap % NS_PER_S};
    // ppoll instead of poll, because a timeout in whole milliseconds would make every insert late.
    if (ppoll(fds, count, &timeout, NULL) < 0) {
        // A signal came. `revents` is not defined then.
        for (size_t i = 0; i < count; i++)
            fds[i].revents = 0;
    }
    woke_ns = clock_now_ns();
    stalls_note(s, now + nap, woke_ns);
    return woke_ns;
}

// Runs the loop until all transactions and changes have an outcome, the deadline has passed, or
// another thread stops the load; then closes the connections.
static void drive_conns(struct load *l, struct pollfd *fds)
{
    int64_t now = clock_now_ns();

    while (!is_over(l) && !atomic_load(&l->progress->stop) && now <= l->config->deadline_ns) {
        int64_t until = do_due_work(l, now);
        for (size_t i = 0; i < l->conn_count; i++) {
            const struct conn *c = &l->conns[i];
            fds[i] = c->pg ? (struct pollfd){.fd = PQsocket(c->pg), .events = conn_events(c)}
                           : (struct pollfd){.fd = -1};
        }
        now = load_wait(&l->result->stalls, fds, l->conn_count, until, now);
        for (size_t i = 0; i < l->conn_count; i++)
            conn_serve(l, &l->conns[i], fds[i].revents, now);
    }
    for (size_t i = 0; i < l->conn_count; i++) {
        if (l->conns[i].pg)
            conn_close(l, &l->conns[i], clock_now_ns());
    }
}
