// kill-host: the host of server and collectors dies and is started again.
#include "fault/family.h"

#include <signal.h>

// Kills the collectors first, so that none of them sees its server die. The reader counts as a
// program on another host, so it still reads the bytes that are in the pipe.
static bool kill_host(struct fault_context *c, struct fault_record *r, struct err *e)
{
    pid_t pids[INSTANCES_MAX];

    if (!fault_admin(c, e) || !fault_change_pages(c, r, e))
        return false;
    // All instances (-1), and not for good (false): start_host lets those in r->memo start again.
    size_t count = subject_hold_down(c->subject, -1, SIGKILL, false, pids, &r->memo);
    if (count == 0)
        return err_set(e, ERR_SKIP, "no collector was running at that time");
    return fault_stop_server(c, r, e) && fault_await_end(c, pids, count, e);
}

// Starts the server and then the collectors. The evidence tells of both.
static bool start_host(struct fault_context *c, struct fault_record *r, struct err *e)
{
    const int died = __builtin_popcountll(r->memo); // one bit for each killed collector
    char server[sizeof r->evidence];
    struct err ignored;

    // The collectors are started even if the server failed to start, so that nothing stays broken.
    bool ok = fault_start_server(c, r, e);
    memcpy(server, r->evidence, sizeof server);
    snprintf(r->evidence, sizeof r->evidence, "%d %s killed; %.110s", died,
        NOUN(died, "collector", "collectors"), server);
    return fault_start_collector(c, r, ok ? e : &ignored) && ok;
}

const struct fault_verb fault_host_verbs[] = {
    {VERB_KILL_HOST, .begin = kill_host, .end = start_host, .need = NEEDS_STOP},
    {0},
};
