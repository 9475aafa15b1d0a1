// When the server is away, the processes and the machine are sampled all the same; each further
// sample tries to connect again. Counters are kept as the server gives them; whoever reads the
// samples takes differences, and leaves out those over a crash. A server in a container has pids of
// its own, which are translated to ours.
//
// The query for the backends also shows the collector's sessions (presence.h), so that a look at
// these costs no query of its own.
#include "postgres/sampler.h"

#include "os/process.h"
#include "os/segments.h"
#include "os/ticker.h"
#include "postgres/sql.h"
#include "postgres_sql.h"

static const int64_t period_ns = NS_PER_S;

#define COLLECTORS_MAX 64

struct sampler {
    struct sampler_config config;
    char *conninfo;
    struct ticker ticker;
    PGconn *conn;
    struct sample *samples;
    size_t count;
    struct wait_count waits[SAMPLER_WAITS_MAX];
    size_t wait_count;
    struct usage usage;
    struct presence presence;
};

static void take_sample(void *arg, int64_t due_ns);

struct sampler *sampler_start(const struct sampler_config *config, struct err *e)
{
    struct sampler *s = memory_zeroed(1, sizeof *s);

    s->config = *config;
    s->conninfo = memory_copy(config->conninfo);
    if (ticker_start(&s->ticker, period_ns, take_sample, s, e))
        return s;
    sampler_free(s);
    return NULL;
}

void sampler_stop(struct sampler *s)
{
    if (!s || !ticker_stop(&s->ticker))
        return;
    // A last sample, so that the sums cover the run to its end.
    take_sample(s, clock_now_ns());
    sql_finish(&s->conn);
}

void sampler_free(struct sampler *s)
{
    if (!s)
        return;
    sampler_stop(s);
    free(s->conninfo);
    free(s->samples);
    presence_fini(&s->presence);
    free(s);
}

const struct sample *sampler_samples(const struct sampler *s, size_t *count)
{
    *count = s ? s->count : 0;
    return s ? s->samples : NULL;
}

const struct wait_count *sampler_waits(const struct sampler *s, size_t *count)
{
    *count = s ? s->wait_count : 0;
    return s ? s->waits : NULL;
}

const struct presence *sampler_presence(const struct sampler *s)
{
    return s ? &s->presence : NULL;
}

const struct usage *sampler_usage(const struct sampler *s)
{
    return s ? &s->usage : NULL;
}

// --- a sample -----------------------------------------------------------------

static double sample_number(const PGresult *result, int column)
{
    return strtod(PQgetvalue(result, 0, column), NULL);
}

// Reads the server's counters into the sample. False when a query failed.
static bool sample_counters(struct sampler *s, struct sample *sample)
{
    struct err ignored;
    // Version 17 moved the counts of checkpoints to pg_stat_checkpointer.
    bool before_17 = PQserverVersion(s->conn) < 170000;
    PGresult *counters FREED_BY(sql_clear) =
        sql_query(s->conn, postgres_sql_sample, 0, NULL, &ignored);
    PGresult *checkpoints FREED_BY(sql_clear) = sql_query(s->conn,
        before_17 ? postgres_sql_checkpoints : postgres_sql_checkpoints_17, 0, NULL, &ignored);
    bool ok = PQntuples(counters) == 1 && PQntuples(checkpoints) == 1;

    if (ok) {
        sample->commits = sample_number(counters, 0);
        sample->wal_bytes = sample_number(counters, 1);
        sample->queue_usage = sample_number(counters, 2);
        sample->dead_tuples = sample_number(counters, 3);
        sample->oldest_xmin_age = sample_number(counters, 4);
        sample->database_bytes = sample_number(counters, 5);
        sample->checkpoints = sample_number(checkpoints, 0);
    }
    return ok;
}

// Counts a backend that waits for this event. Ignores events for which the table has no room.
static void count_wait(struct sampler *s, const char *event)
{
    size_t i = 0;

    while (i < s->wait_count && strcmp(s->waits[i].event, event) != 0)
        i++;
    if (i == SAMPLER_WAITS_MAX)
        return;
    if (i == s->wait_count)
        snprintf(s->waits[s->wait_count++].event, sizeof s->waits[i].event, "%s", event);
    s->waits[i].seen++;
}

// Returns the group to which the CPU time of this role's backends is added.
static enum usage_group find_role_group(const struct sampler *s, const char *role)
{
    if (strcmp(role, s->config.collector_role) == 0)
        return USAGE_COLLECTOR_BACKENDS;
    return strcmp(role, s->config.load_role) == 0 ? USAGE_LOAD_BACKENDS : USAGE_SERVER;
}

// The pids of the server's processes: `inner` as the server knows them in its own pid namespace,
// and `outer` as we see them.
struct server_pids {
    pid_t inner[USAGE_PROCESSES_MAX], outer[USAGE_PROCESSES_MAX];
    size_t count;
};

// Finds the processes of a server in another pid namespace: the children of its first process.
// Finds none while that process is unknown.
static void find_server_pids(const atomic_int *outer_pid, struct server_pids *f)
{
    pid_t first = outer_pid ? atomic_load(outer_pid) : 0;

    f->count = first ? process_children(first, f->outer, USAGE_PROCESSES_MAX) : 0;
    for (size_t i = 0; i < f->count; i++)
        f->inner[i] = process_inner_pid(f->outer[i]);
}

// Returns our pid of the process that the server knows by `pid`; 0 when we see no such process.
static pid_t find_outer_pid(const struct server_pids *f, pid_t pid)
{
    for (size_t i = 0; i < f->count; i++) {
        if (f->inner[i] == pid)
            return f->outer[i];
    }
    return 0;
}

// Adds the descriptors of a server process to the sample and, for a backend of the collector, its
// own memory. Reads the shared memory once, because it belongs to the parent of all, the
// postmaster.
static void add_backend_figures(struct sample *sample, pid_t pid, enum usage_group group)
{
    struct process_stat stat;

    sample->server_fds += (double)process_descriptors(pid);
    if (group == USAGE_COLLECTOR_BACKENDS)
        sample->backends_kb += (double)process_own_kb(pid);
    bool was_read = sample->shm_bytes > 0;
    if (!was_read && process_stat(pid, &stat))
        sample->shm_bytes = (double)segments_bytes(stat.parent);
}

// The columns of postgres_sql_backends.
enum { PID, ROLE, WAIT, TRANSACTION, HELD_UP, SHOWN };

// Counts the session of a row in the look, if it is the collector's, and notes the transaction that
// it has open. False when our rights do not show the session's state.
static bool add_session_to_look(
    struct sampler *s, struct presence_look *look, const PGresult *rows, int row)
{
    const char *transaction = PQgetvalue(rows, row, TRANSACTION);
    uint32_t pid = (uint32_t)strtoul(PQgetvalue(rows, row, PID), NULL, 10);

    if (strcmp(PQgetvalue(rows, row, ROLE), s->config.collector_role) != 0)
        return true;
    if (PQgetvalue(rows, row, SHOWN)[0] != '1')
        return false;
    look->sessions += pid != 0; // pid 0: a prepared transaction, which is no session
    if (*transaction)
        presence_add_transaction(
            &s->presence, transaction, pid, PQgetvalue(rows, row, HELD_UP)[0] == '1', look->at_ns);
    return true;
}

// Counts the server's active sessions by what they wait for, adds their processes to the sample,
// and adds the collector's sessions to s->presence as one look. False when the query failed.
static bool sample_backends(struct sampler *s, struct sample *sample)
{
    struct presence_look look = {.at_ns = clock_now_ns()};
    bool shown = true;
    struct err ignored;
    struct server_pids pids;
    PGresult *rows = sql_query(s->conn, postgres_sql_backends, 0, NULL, &ignored);

    find_server_pids(s->config.outer_pid, &pids);
    for (int i = 0; i < PQntuples(rows); i++) {
        const char *event = PQgetvalue(rows, i, WAIT);
        pid_t pid = (pid_t)atoi(PQgetvalue(rows, i, PID));
        shown = add_session_to_look(s, &look, rows, i) && shown;
        if (s->config.outer_pid)
            pid = find_outer_pid(&pids, pid);
        enum usage_group group = find_role_group(s, PQgetvalue(rows, i, ROLE));
        if (pid) {
            usage_process(&s->usage, pid, group);
            add_backend_figures(sample, pid, group);
        }
        if (!*event)
            continue;
        sample->active++;
        count_wait(s, event);
    }
    PQclear(rows);
    look.cpu_ms = (uint64_t)(1e3 * s->usage.cpu_s[USAGE_COLLECTOR_BACKENDS]);
    presence_end_look(&s->presence, rows && shown ? &look : NULL);
    return rows != NULL;
}

// Adds the server's own figures to the sample. After a failure, which returns false, the next
// sample connects anew.
static bool sample_server(struct sampler *s, struct sample *sample)
{
    struct err ignored;

    if (!s->conn)
        s->conn = sql_connect(s->conninfo, &ignored);
    if (s->conn && sample_counters(s, sample) && sample_backends(s, sample))
        return true;
    sql_finish(&s->conn);
    return false;
}

// Takes one sample of processes, server and machine, and stores it. The ticker calls this once a
// second.
static void take_sample(void *arg, int64_t due_ns)
{
    struct sampler *s = arg;
    struct sample sample = {.at_ns = clock_now_ns()};
    struct process_stat self;
    pid_t pids[COLLECTORS_MAX];

    (void)due_ns;
    usage_begin(&s->usage);
    size_t collectors = s->config.collectors(s->config.arg, pids, COLLECTORS_MAX);
    for (size_t i = 0; i < collectors; i++) {
        usage_process(&s->usage, pids[i], USAGE_COLLECTOR);
        sample.collector_fds += (double)process_descriptors(pids[i]);
    }
    sample.up = sample_server(s, &sample);
    if (!sample.up)
        presence_end_look(&s->presence, NULL);
    usage_end(&s->usage);
    memcpy(sample.cpu_s, s->usage.cpu_s, sizeof sample.cpu_s);
    sample.busy_s = s->usage.busy_s;
    sample.total_s = s->usage.total_s;
    sample.collector_rss_kb = s->usage.collector_rss_kb;
    if (process_stat(getpid(), &self))
        sample.harness_kb = (double)self.rss_kb;
    memory_grow(&s->samples, s->count, 1, sizeof sample);
    s->samples[s->count++] = sample;
}
