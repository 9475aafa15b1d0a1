// Finds the time from which on the server's commits are lost. The harness's own probe commits a
// number ten times a second; the numbers that the database no longer holds date the loss.
#include "ledger/ledger.h"

#include "postgres/sql.h"

// Returns when the commit of this sample was acknowledged.
static int64_t acknowledged_ns(const struct probe_sample *s)
{
    return s->due_ns + s->stall_ns + s->took_ns;
}

// Returns the time from which on a fault that ended at until_ns has lost commits; 0: it lost none.
// Commits that were acknowledged by since_ns count for the fault before it, which ended then.
// Between two commits of the probe nobody knows what is lost, so the time is that of the commit
// before the first lost one.
static int64_t first_lost_ns(
    const struct ledger *l, const bool *kept, int64_t since_ns, int64_t until_ns)
{
    int64_t before_ns = l->start_ns; // when the previous commit of the probe was acknowledged

    for (size_t i = 0; i < l->flush_count; i++) {
        const struct probe_sample *s = &l->flushes[i];
        if (s->took_ns == CLOCK_NEVER || acknowledged_ns(s) > until_ns)
            continue;
        if (!kept[i] && acknowledged_ns(s) > since_ns)
            return before_ns;
        before_ns = acknowledged_ns(s);
    }
    return 0;
}

void ledger_date_losses(struct ledger *l, struct fault_record *faults, const bool *kept)
{
    int64_t since_ns = 0;

    for (size_t i = 0; i < l->fault_count; i++) {
        struct fault_record *f = &faults[i];
        if (!f->began_ns || !verb_stops_server(f->spec->verb))
            continue;
        if (!f->left_known)
            f->left_ns = first_lost_ns(l, kept, since_ns, f->ended_ns);
        f->left_known = true;
        since_ns = f->ended_ns;
    }
}

bool ledger_settle_losses(
    struct ledger *l, struct fault_record *faults, PGconn *conn, struct err *e)
{
    // A disk that lies may lose single pages. A commit of the probe that is kept then does not
    // prove that the commits before it are kept, too, so losses have no date.
    if (!conn || l->flush_count == 0 || l->scenario->postgres.disk != DISK_HONEST)
        return true;
    PGresult *rows FREED_BY(sql_clear) = sql_query(conn, "SELECT n FROM " PROBE_TABLE, 0, NULL, e);
    if (!rows)
        return false;
    bool *kept FREED_BY(memory_free) = memory_zeroed(l->flush_count, sizeof *kept);
    for (int i = 0; i < PQntuples(rows); i++) {
        unsigned long n = strtoul(PQgetvalue(rows, i, 0), NULL, 10);
        if (n < l->flush_count)
            kept[n] = true;
    }
    ledger_date_losses(l, faults, kept);
    return true;
}
