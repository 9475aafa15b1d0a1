#include "load/parcel.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STALLS_SENT_MAX 100000

struct parcel_record {
    uint64_t sent, commit, ended, outcome;
};

static bool send_record(struct post *p, const struct txn_record *t, struct err *e)
{
    const struct parcel_record r = {htole64((uint64_t)t->sent_ns), htole64((uint64_t)t->commit_ns),
        htole64((uint64_t)t->ended_ns), htole64((uint64_t)t->outcome)};

    return post_write(p, &r, sizeof r, e);
}

static bool send_stalls(struct post *p, const struct stalls *s, size_t count, struct err *e)
{
    bool ok = true;

    for (size_t i = 0; ok && i < count; i++) {
        const uint64_t pair[2] = {
            htole64((uint64_t)s->kept[i].from_ns), htole64((uint64_t)s->kept[i].until_ns)};
        ok = post_write(p, pair, sizeof pair, e);
    }
    return ok;
}

bool parcel_send(struct post *p, const struct load_config *c, const struct remote_part *part,
    const struct load_result *result, struct err *e)
{
    const struct stalls *s = &result->stalls;
    size_t kept = s->kept_count < STALLS_SENT_MAX ? s->kept_count : STALLS_SENT_MAX;
    bool ok =
        post_say(p, e, "done %zu %.9f %zu %lld %lld %zu %s", result->refused, result->cpu_s,
            s->count, (long long)s->longest_ns, (long long)s->total_ns, kept, result->refusal) &&
        send_stalls(p, s, kept, e);

    for (size_t i = c->first; ok && i < c->end; i++) {
        if (i % part->of == part->part)
            ok = send_record(p, &result->records[i], e);
    }
    return ok;
}

static bool take_record(struct post *p, struct txn_record *out, struct err *e)
{
    struct parcel_record r;

    if (!post_read(p, &r, sizeof r, e))
        return false;
    uint64_t outcome = le64toh(r.outcome);
    if (outcome > TXN_NOT_NEEDED)
        return err_set(e, ERR_CONNECTION, "it sent an invalid record");
    *out = (struct txn_record){.sent_ns = (int64_t)le64toh(r.sent),
        .commit_ns = (int64_t)le64toh(r.commit),
        .ended_ns = (int64_t)le64toh(r.ended),
        .outcome = (enum txn_outcome)outcome};
    return true;
}

static bool take_stalls(struct post *p, size_t kept, const struct remote_clock *clock,
    struct stalls *all, pthread_mutex_t *lock, struct err *e)
{
    for (size_t i = 0; i < kept; i++) {
        uint64_t pair[2];
        if (!post_read(p, pair, sizeof pair, e))
            return false;
        const struct stall stall = {(int64_t)le64toh(pair[0]) - clock->offset_ns,
            (int64_t)le64toh(pair[1]) - clock->offset_ns};
        pthread_mutex_lock(lock);
        bool ok = stalls_keep(all, stall);
        pthread_mutex_unlock(lock);
        if (!ok)
            return err_set(e, ERR_INTERNAL, "out of memory");
    }
    return true;
}

static int by_start(const void *a, const void *b)
{
    const struct stall *x = a, *y = b;

    return (x->from_ns > y->from_ns) - (x->from_ns < y->from_ns);
}

static void add_figures(struct load_result *all, size_t refused, double cpu_s, const char *refusal,
    size_t stalls, long long longest_ns, long long total_ns)
{
    if (refused > 0 && all->refused == 0)
        snprintf(all->refusal, sizeof all->refusal, "%s", refusal);
    all->refused += refused;
    all->cpu_s += cpu_s;
    all->stalls.count += stalls;
    all->stalls.total_ns += total_ns;
    if (longest_ns > all->stalls.longest_ns)
        all->stalls.longest_ns = longest_ns;
    // Sorts them by time, as a single generator records them.
    if (all->stalls.kept_count > 0)
        qsort(all->stalls.kept, all->stalls.kept_count, sizeof *all->stalls.kept, by_start);
}

bool parcel_take(struct post *p, const char *line, const struct load_config *c,
    const struct remote_part *part, const struct remote_clock *clock, struct load_result *result,
    pthread_mutex_t *lock, struct err *e)
{
    size_t refused, stalls, kept;
    long long longest_ns, total_ns;
    double cpu_s;
    int text = 0;

    if (sscanf(line, "done %zu %lf %zu %lld %lld %zu %n", &refused, &cpu_s, &stalls, &longest_ns,
            &total_ns, &kept, &text) != 6 ||
        kept > STALLS_SENT_MAX)
        return err_set(e, ERR_CONNECTION, "it sent '%.60s' instead of its results", line);
    if (!take_stalls(p, kept, clock, &result->stalls, lock, e))
        return false;
    for (size_t i = c->first; i < c->end; i++) {
        struct txn_record theirs;
        if (i % part->of != part->part)
            continue;
        if (!take_record(p, &theirs, e))
            return false;
        result->records[i] = remote_ours(&theirs, clock);
    }
    pthread_mutex_lock(lock);
    add_figures(result, refused, cpu_s, text ? line + text : "", stalls, longest_ns, total_ns);
    pthread_mutex_unlock(lock);
    return true;
}
