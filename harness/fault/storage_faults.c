// Faults of the server's disk while it has power.
#include "fault/family.h"

#include "os/interrupt.h"
#include "postgres/local/disk.h"
#include "postgres/sql.h"

static const int64_t hit_limit_ns = 10 * NS_PER_S; // for a flush, and for the panic after it
static const int64_t poll_ns = 5 * NS_PER_MS;

// --- slow-disk ----------------------------------------------------------------------

static bool begin_slow_disk(struct fault_context *c, struct fault_record *r, struct err *e)
{
    int64_t delayed_before = 0;
    bool ok = disk_slow_down(fault_disk(c), r->spec->by_ns, &delayed_before, e);

    r->memo = (uint64_t)delayed_before;
    return ok;
}

// Ends slow-disk. r->memo: the number of delayed flushes before the fault; more of them prove it.
static bool end_slow_disk(struct fault_context *c, struct fault_record *r, struct err *e)
{
    int64_t delayed;

    if (!disk_slow_down(fault_disk(c), 0, &delayed, e))
        return false;
    if (delayed <= (int64_t)r->memo)
        return err_set(e, ERR_SYSTEM, "the disk was not flushed while it was slow");
    snprintf(r->evidence, sizeof r->evidence, "%" PRId64 " %s took %g ms and more",
        delayed - (int64_t)r->memo, NOUN(delayed - (int64_t)r->memo, "flush", "flushes"),
        (double)r->spec->by_ns / 1e6);
    return true;
}

// --- the server's log and its repair ----------------------------------------------------

unsigned fault_count_in_log(const char *path, long from, const char *words)
{
    FILE *log = fopen(path, "re");
    char *line FREED_BY(memory_free) = NULL;
    size_t size = 0;
    unsigned count = 0;

    if (log && fseek(log, from, SEEK_SET) == 0) {
        while (getline(&line, &size, log) > 0)
            count += strstr(line, words) != NULL;
    }
    if (log)
        fclose(log);
    return count;
}

// Waits until the server works again after its disk failed, which may have ended our session. Sets
// *started to true when the server could not recover by itself and was started again.
static bool repair_storage(struct fault_context *c, bool *started, struct err *e)
{
    sql_finish(&c->admin);
    return c->server->provider->repair(c->server, started, e);
}

// --- fail-flush ---------------------------------------------------------------------

// Waits for the server's panic. Fails when none comes within 10 s, because a server that goes on
// has not noticed that the flush failed.
static bool await_panic(struct fault_context *c, long from, struct err *e)
{
    int64_t deadline = clock_now_ns() + hit_limit_ns;

    while (fault_count_in_log(c->server->log_path, from, "PANIC:") == 0) {
        if (clock_now_ns() > deadline)
            return err_set(e, ERR_SYSTEM, "a flush failed, and the server did not panic");
        if (!interrupt_sleep(poll_ns, e))
            return false;
    }
    return true;
}

// Lets the n-th flush fail, and waits until the server has panicked because of it.
static bool fail_flush(struct fault_context *c, struct fault_record *r, struct err *e)
{
    struct disk *disk = fault_disk(c);
    int64_t before, failed, deadline = clock_now_ns() + hit_limit_ns;
    long from = provider_log_length(c->server);

    if (!disk_fail_flush(disk, r->spec->n, &before, e))
        return false;
    do {
        if (!disk_count_failed(disk, &failed, e))
            return false;
        // The disk says that it has failed the flush; the server's log must say that the server has
        // noticed.
        if (failed > before)
            return await_panic(c, from, e);
    } while (clock_now_ns() < deadline && interrupt_sleep_until(clock_now_ns() + poll_ns));
    return err_set(e, ERR_SYSTEM, "the disk was not flushed %d times within 10 s", r->spec->n);
}

// Ends fail-flush, which await_panic has proved at its beginning.
static bool repair_disk(struct fault_context *c, struct fault_record *r, struct err *e)
{
    int64_t failed;
    bool started;

    // 0: no further flush fails.
    if (!disk_fail_flush(fault_disk(c), 0, &failed, e) || !repair_storage(c, &started, e))
        return false;
    snprintf(r->evidence, sizeof r->evidence, "flush %d failed, the server panicked and %s",
        r->spec->n, started ? "was started again" : "came back by itself");
    return true;
}

// --- fill-disk ----------------------------------------------------------------------

static bool fill_disk(struct fault_context *c, struct fault_record *r, struct err *e)
{
    int64_t bytes;

    r->memo = (uint64_t)provider_log_length(c->server);
    return disk_fill(fault_disk(c), &bytes, e);
}

// Ends fill-disk. Writes that the server's log says were refused prove it.
static bool end_fill_disk(struct fault_context *c, struct fault_record *r, struct err *e)
{
    unsigned refused =
        fault_count_in_log(c->server->log_path, (long)r->memo, "No space left on device");
    bool started;

    if (!disk_empty(fault_disk(c), e) || !repair_storage(c, &started, e))
        return false;
    // A server that used only room that it had reserved before did not feel the full disk.
    if (refused == 0)
        return err_set(e, ERR_SYSTEM, "the server needed no room while the disk was full");
    snprintf(r->evidence, sizeof r->evidence, "the server found no room %u %s and %s", refused,
        NOUN(refused, "time", "times"), started ? "was started again" : "lived on");
    return true;
}

const struct fault_verb fault_storage_verbs[] = {
    {VERB_SLOW_DISK, .begin = begin_slow_disk, .end = end_slow_disk, .need = NEEDS_DISK},
    {VERB_FAIL_FLUSH, .begin = fail_flush, .end = repair_disk, .need = NEEDS_DISK},
    {VERB_FILL_DISK, .begin = fill_disk, .end = end_fill_disk, .need = NEEDS_DISK},
    {0},
};
