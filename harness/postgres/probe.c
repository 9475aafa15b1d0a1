#include "postgres/probe.h"

#include "os/ticker.h"
#include "postgres/sql.h"

static const int64_t period_ns = 100 * NS_PER_MS;

struct probe {
    char *conninfo;
    const char *sql;
    struct ticker ticker;
    PGconn *conn;
    struct probe_sample *samples; // belongs to the thread until it is joined
    size_t count;
};

static void take_probe_sample(void *arg, int64_t due_ns);

struct probe *probe_start(const char *conninfo, const char *sql, struct err *e)
{
    struct probe *p = memory_zeroed(1, sizeof *p);

    p->conninfo = memory_copy(conninfo);
    p->sql = sql;
    if (ticker_start(&p->ticker, period_ns, take_probe_sample, p, e))
        return p;
    probe_free(p);
    return NULL;
}

void probe_stop(struct probe *p)
{
    ticker_stop(&p->ticker);
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
    free(p->samples);
    free(p->conninfo);
    free(p);
}

// --- a sample -------------------------------------------------------------------

// Sends the query with the sample's number, and waits for the answer. False when the server did not
// answer with one row.
static bool send_probe_query(struct probe *p, struct err *e)
{
    char number[24];
    const char *params[] = {number};

    snprintf(number, sizeof number, "%zu", p->count);
    PGresult *row FREED_BY(sql_clear) = sql_query(p->conn, p->sql, 1, params, e);
    return row && PQntuples(row) == 1;
}

// Takes one sample. A sample that has to connect sends no query, because the first query on a
// connection says nothing about the server's pace. But the time to connect, or to fail at it,
// counts as a stall: when that takes long, the server stands still for everybody who connects then.
// A slow answer is the server's fault and no stall of ours, so the next query is due only when the
// answer has come.
static void take_probe_sample(void *arg, int64_t due_ns)
{
    struct probe *p = arg;
    struct probe_sample sample = {.due_ns = due_ns, .took_ns = CLOCK_NEVER};
    struct err e;
    int64_t begin_ns = clock_now_ns();

    sample.stall_ns = begin_ns - due_ns;
    if (!p->conn) {
        p->conn = sql_connect(p->conninfo, &e);
        sample.stall_ns = clock_now_ns() - due_ns;
    } else if (send_probe_query(p, &e)) {
        sample.took_ns = clock_now_ns() - begin_ns;
    } else {
        sql_finish(&p->conn);
    }
    memory_grow(&p->samples, p->count, 1, sizeof sample);
    p->samples[p->count++] = sample;
}
