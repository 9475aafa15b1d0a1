// Finds out since when the server's commits are lost. The harness's own probe commits a number ten
// times a second; the numbers that the database no longer holds date the loss.
#include "ledger/ledger.h"

#include <stdlib.h>

#include "base/clock.h"
#include "postgres/sql.h"

static int64_t acknowledged_ns(const struct probe_sample *s)
{
    return s->due_ns + s->stall_ns + s->took_ns;
}

// Returns since when commits are lost: when the last probe commit before the first missing one was
// acknowledged. Only commits acknowledged after since_ns and until until_ns can be missing by this
// fault: these are the ends of the fault before it and of this one. 0: the fault lost none.
static int64_t first_lost_ns(
    const struct ledger *l, const bool *there, int64_t since_ns, int64_t until_ns)
{
    int64_t kept_ns = l->start_ns;

    for (size_t i = 0; i < l->flush_count; i++) {
        const struct probe_sample *s = &l->flushes[i];
        if (s->took_ns == CLOCK_NEVER || acknowledged_ns(s) > until_ns)
            continue;
        if (!there[i] && acknowledged_ns(s) > since_ns)
            return kept_ns;
        kept_ns = acknowledged_ns(s);
    }
    return 0;
}

void ledger_date_losses(struct ledger *l, struct fault_record *faults, const bool *there)
{
    int64_t since_ns = 0;

    for (size_t i = 0; i < l->fault_count; i++) {
        struct fault_record *f = &faults[i];
        if (!f->began_ns || !verb_stops_server(f->spec->verb))
            continue;
        if (!f->left_known)
            f->left_ns = first_lost_ns(l, there, since_ns, f->ended_ns);
        f->left_known = true;
        since_ns = f->ended_ns;
    }
}

bool ledger_settle_losses(
    struct ledger *l, struct fault_record *faults, PGconn *conn, struct err *e)
{
    // A disk that lies may lose single pages, so a commit that is there does not prove that the
    // commits before it are there too.
    if (!conn || l->flush_count == 0 || l->scenario->postgres.disk != DISK_HONEST)
        return true;
    bool *there = calloc(l->flush_count, sizeof *there);
    PGresult *rows = there ? sql_query(conn, "SELECT n FROM " PROBE_TABLE, 0, NULL, e) : NULL;

    for (int i = 0; rows && i < PQntuples(rows); i++) {
        unsigned long n = strtoul(PQgetvalue(rows, i, 0), NULL, 10);
        if (n < l->flush_count)
            there[n] = true;
    }
    if (rows)
        ledger_date_losses(l, faults, there);
    PQclear(rows);
    free(there);
    return rows != NULL || (!there && err_memory(e));
}
