#include "load/worker_result.h"

#include <endian.h>

#define STALLS_SENT_MAX 100000 // further stalls count in the figures only

// A struct txn_record as it is sent. The times are in ns.
struct worker_result_record {
    uint64_t sent, commit, ended, outcome;
};

static bool send_record(struct channel *p, const struct txn_record *t, struct err *e)
{
    const struct worker_result_record r = {htole64((uint64_t)t->sent_ns),
        htole64((uint64_t)t->commit_ns), htole64((uint64_t)t->ended_ns),
        htole64((uint64_t)t->outcome)};

    return channel_write(p, &r, sizeof r, e);
}

static bool send_stalls(struct channel *p, const struct stalls *s, size_t count, struct err *e)
{
    bool ok = true;

    for (size_t i = 0; ok && i < count; i++) {
        const uint64_t pair[2] = {
            htole64((uint64_t)s->kept[i].from_ns), htole64((uint64_t)s->kept[i].until_ns)};
        ok = channel_write(p, pair, sizeof pair, e);
    }
    return ok;
}

bool worker_result_send(
    struct channel *p, const struct load_config *c, const struct load_result *result, struct err *e)
{
    const struct stalls *s = &result->stalls;
    size_t kept = s->kept_count < STALLS_SENT_MAX ? s->kept_count : STALLS_SENT_MAX;
    bool ok =
        channel_say(p, e, "done %zu %.9f %zu %lld %lld %zu %s", result->refused, result->cpu_s,
            s->count, (long long)s->longest_ns, (long long)s->total_ns, kept, result->refusal) &&
        send_stalls(p, s, kept, e);

    for (size_t i = c->first; ok && i < c->end; i++) {
        if (i % c->part.of == c->part.part)
            ok = send_record(p, &result->records[i], e);
    }
    return ok;
}

// Reads one record; its times are by the worker's clock. False when it is invalid or the worker is
// gone.
static bool take_record(struct channel *p, struct txn_record *out, struct err *e)
{
    struct worker_result_record r;

    if (!channel_read(p, &r, sizeof r, e))
        return false;
    // Check the outcome, because the record comes from another machine and the report uses the
    // outcome as an index.
    uint64_t outcome = le64toh(r.outcome);
    if (outcome > TXN_NOT_NEEDED)
        return err_set(e, ERR_CONNECTION, "it sent an invalid record");
    *out = (struct txn_record){.sent_ns = (int64_t)le64toh(r.sent),
        .commit_ns = (int64_t)le64toh(r.commit),
        .ended_ns = (int64_t)le64toh(r.ended),
        .outcome = (enum txn_outcome)outcome};
    return true;
}

// Reads a worker's stalls and adds them to the merged result, on the run's clock.
static bool take_stalls(
    struct channel *p, size_t kept, const struct worker_result_target *to, struct err *e)
{
    for (size_t i = 0; i < kept; i++) {
        uint64_t pair[2];
        if (!channel_read(p, pair, sizeof pair, e))
            return false;
        const struct stall stall = {(int64_t)le64toh(pair[0]) - to->clock.offset_ns,
            (int64_t)le64toh(pair[1]) - to->clock.offset_ns};
        pthread_mutex_lock(to->lock);
        stalls_keep(&to->result->stalls, stall);
        pthread_mutex_unlock(to->lock);
    }
    return true;
}

// Reads the records of the worker's part, each to its place in the result, on the run's clock.
static bool read_worker_records(
    struct channel *p, const struct worker_result_target *to, struct err *e)
{
    for (size_t i = to->config->first; i < to->config->end; i++) {
        struct txn_record theirs;
        if (i % to->part.of != to->part.part)
            continue;
        if (!take_record(p, &theirs, e))
            return false;
        to->result->records[i] = remote_to_run_clock(&theirs, &to->clock);
    }
    return true;
}

// The figures in the message that a worker sends about its load.
struct figures {
    size_t refused, stalls, kept;
    long long longest_ns, total_ns;
    double cpu_s;
    const char *refusal; // borrowed from the line
};

// Reads the first line of a result. False for any other line.
static bool parse_figures(struct figures *f, const char *line)
{
    int text = 0;

    if (sscanf(line, "done %zu %lf %zu %lld %lld %zu %n", &f->refused, &f->cpu_s, &f->stalls,
            &f->longest_ns, &f->total_ns, &f->kept, &text) != 6)
        return false;
    f->refusal = text ? line + text : "";
    return f->kept <= STALLS_SENT_MAX;
}

static void add_figures(struct load_result *all, const struct figures *f)
{
    if (f->refused > 0 && all->refused == 0)
        snprintf(all->refusal, sizeof all->refusal, "%s", f->refusal);
    all->refused += f->refused;
    all->cpu_s += f->cpu_s;
    all->stalls.count += f->stalls;
    all->stalls.total_ns += f->total_ns;
    if (f->longest_ns > all->stalls.longest_ns)
        all->stalls.longest_ns = f->longest_ns;
    // A single generator keeps its stalls in the order of time, so those of several are sorted,
    // too. clock_compare compares the first member of struct stall, from_ns.
    if (all->stalls.kept_count > 0)
        qsort(all->stalls.kept, all->stalls.kept_count, sizeof *all->stalls.kept, clock_compare);
}

bool worker_result_take(
    struct channel *p, const char *line, const struct worker_result_target *to, struct err *e)
{
    struct figures f;

    if (!parse_figures(&f, line))
        return err_set(e, ERR_CONNECTION, "it sent '%.60s' instead of its results", line);
    if (!take_stalls(p, f.kept, to, e) || !read_worker_records(p, to, e))
        return false;
    pthread_mutex_lock(to->lock);
    add_figures(to->result, &f);
    pthread_mutex_unlock(to->lock);
    return true;
}
