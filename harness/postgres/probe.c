#include "postgres/probe.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/clock.h"
#include "postgres/sql.h"

static const int64_t every_ns = 100 * NS_PER_MS;

struct probe {
    char *conninfo;
    const char *sql;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool started;
    bool stopping; // under the lock
    PGconn *conn;
    struct probe_sample *samples; // the thread's until it is joined
    size_t count;
};

static void *probe_loop(void *arg);

struct probe *probe_start(const char *conninfo, const char *sql, struct err *e)
{
    struct probe *p = calloc(1, sizeof *p);
    pthread_condattr_t monotonic;

    if (!p) {
        err_set(e, ERR_INTERNAL, "out of memory");
        return NULL;
    }
    pthread_mutex_init(&p->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&p->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    p->conninfo = strdup(conninfo);
    p->sql = sql;
    p->started = p->conninfo && pthread_create(&p->thread, NULL, probe_loop, p) == 0;
    if (!p->started) {
        err_set(e, ERR_SYSTEM, "cannot start a thread");
        probe_free(p);
        return NULL;
    }
    return p;
}

void probe_stop(struct probe *p)
{
    if (!p || !p->started)
        return;
    pthread_mutex_lock(&p->lock);
    p->stopping = true;
    pthread_cond_signal(&p->wake);
    pthread_mutex_unlock(&p->lock);
    pthread_join(p->thread, NULL);
    p->started = false;
}

const struct probe_sample *probe_samples(const struct probe *p, size_t *count)
{
    *count = p->count;
    return p->samples;
}

void probe_free(struct probe *p)
{
    if (!p)
        return;
    probe_stop(p);
    PQfinish(p->conn);
    pthread_cond_destroy(&p->wake);
    pthread_mutex_destroy(&p->lock);
    free(p->samples);
    free(p->conninfo);
    free(p);
}

// --- the thread -----------------------------------------------------------------

// Returns false when the probe must end.
static bool sleep_until(struct probe *p, int64_t due_ns)
{
    struct timespec due = {.tv_sec = due_ns / NS_PER_S, .tv_nsec = due_ns % NS_PER_S};

    pthread_mutex_lock(&p->lock);
    while (!p->stopping && clock_now_ns() < due_ns)
        pthread_cond_timedwait(&p->wake, &p->lock, &due);
    bool stopping = p->stopping;
    pthread_mutex_unlock(&p->lock);
    return !stopping;
}

static void keep(struct probe *p, const struct probe_sample *sample)
{
    if (array_grow(&p->samples, p->count, 1, sizeof *sample))
        p->samples[p->count++] = *sample;
}

// A new connection is no measure of the server's pace and gives no answer. But one that takes long,
// or fails after long, shows that the server stands still for everybody who connects then.
static void ask(struct probe *p, int64_t due_ns)
{
    struct probe_sample sample = {.due_ns = due_ns, .took_ns = CLOCK_NEVER};
    char one[8];
    struct err e;
    bool was_open = p->conn != NULL;
    int64_t begin_ns = clock_now_ns();

    sample.stall_ns = begin_ns - due_ns;
    if (!p->conn) {
        p->conn = sql_connect(p->conninfo, &e);
        sample.stall_ns = clock_now_ns() - due_ns;
    } else if (sql_value(p->conn, p->sql, one, sizeof one, &e)) {
        sample.took_ns = clock_now_ns() - begin_ns;
    }
    if (was_open && sample.took_ns == CLOCK_NEVER) {
        PQfinish(p->conn);
        p->conn = NULL;
    }
    keep(p, &sample);
}

static void *probe_loop(void *arg)
{
    struct probe *p = arg;
    int64_t due_ns = clock_now_ns();

    while (sleep_until(p, due_ns)) {
        ask(p, due_ns);
        // A slow answer is the server's fault and no stall of ours.
        int64_t now = clock_now_ns();
        due_ns = due_ns + every_ns > now ? due_ns + every_ns : now;
    }
    return NULL;
}
