#include "run/run.h"

#include "postgres/local/drive.h"
#include "postgres/migrate.h"
#include "postgres/sql.h"
#include "subject/subject.h"

// Fills in the pids of all instances (-1). Signal 0 is none: the processes are only listed.
static size_t collector_pids(void *subject, pid_t *pids, size_t max)
{
    (void)max; // max cannot be too small: the scenario limits the number of instances
    return subject_signal(subject, -1, 0, pids);
}

// A server in a container may have a pid namespace of its own. Then returns where the pid that its
// first process has on this machine is kept: its backends are found below that process. NULL: the
// server reports the pids of this machine.
static const atomic_int *outer_pid(const struct observers *o, const struct server *server)
{
    return server->pids_are_ours ? NULL : &o->outer_pid;
}

static bool start_sampler(struct observers *o, const struct server *server, struct subject *subject,
    const char *conninfo, struct err *e)
{
    o->sampler = sampler_start(&(struct sampler_config){.conninfo = conninfo,
                                   .outer_pid = outer_pid(o, server),
                                   .collector_role = MIGRATE_COLLECTOR,
                                   .load_role = MIGRATE_LOAD,
                                   .collectors = collector_pids,
                                   .arg = subject},
        e);
    return o->sampler;
}

static bool start_probes(struct observers *o, const char *conninfo, struct err *e)
{
    PGconn *conn FREED_BY(sql_finish) = sql_connect(conninfo, e);

    if (!conn || !sql_exec(conn, PROBE_MAKE_TABLE, e))
        return false;
    // Two probes, because a server may answer fast and flush slowly.
    o->answers = probe_start(conninfo, PROBE_ANSWER, e);
    o->flushes = o->answers ? probe_start(conninfo, PROBE_FLUSH, e) : NULL;
    return o->flushes;
}

bool observers_start_starved(
    struct observers *o, const struct server *server, struct subject *subject, struct err *e)
{
    observers_note_pid(o, server);
    o->starved = starved_start(&(struct starved_config){.collectors = collector_pids,
                                   .arg = subject,
                                   .collector_role = MIGRATE_COLLECTOR,
                                   .load_role = MIGRATE_LOAD,
                                   .disk = DRIVE_PROGRAM,
                                   .server = outer_pid(o, server)},
        e);
    return o->starved;
}

bool observers_start(
    struct observers *o, const struct server *server, struct subject *subject, struct err *e)
{
    struct buf conninfo FREED_BY(buf_fini) = BUF_INIT(4096);

    return observers_start_starved(o, server, subject, e) &&
           migrate_conninfo(server, server->superuser, &conninfo, e) &&
           start_sampler(o, server, subject, conninfo.data, e) && start_probes(o, conninfo.data, e);
}

void observers_note_pid(struct observers *o, const struct server *server)
{
    atomic_store(&o->outer_pid, server->outer_pid);
}

void observers_end_starved(struct observers *o, struct ledger *l)
{
    starved_stop(o->starved);
    l->starved = starved_samples(o->starved, &l->starved_count);
}

void observers_end_samples(struct observers *o, struct ledger *l)
{
    sampler_stop(o->sampler);
    observers_end_starved(o, l);
    const struct presence *p = sampler_presence(o->sampler);
    if (!p) // there is no sampler
        return;
    l->looks = p->looks;
    l->look_count = p->look_count;
    // The ledger borrows these arrays, so it must not be read after observers_fini.
    l->holds = p->holds;
    l->hold_count = p->hold_count;
}

void observers_end_probes(struct observers *o, struct ledger *l)
{
    probe_stop(o->answers);
    probe_stop(o->flushes);
    l->probes = probe_samples(o->answers, &l->probe_count);
    l->flushes = probe_samples(o->flushes, &l->flush_count);
}

void observers_stop(struct observers *o)
{
    starved_stop(o->starved);
    probe_free(o->answers);
    probe_free(o->flushes);
    o->answers = o->flushes = NULL;
}

void observers_fini(struct observers *o)
{
    observers_stop(o);
    sampler_free(o->sampler);
    starved_free(o->starved);
}
