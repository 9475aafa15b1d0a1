#include "session/pooler.h"

#define DEADLINE_NS (900 * NS_PER_MS) // how long the answer to the second session is awaited

// Goes on with the second session as far as it can. True when there is nothing more to wait for: an
// answer came, or the connection failed. A failure does not prove that there is a pooler.
static bool probe_finished(
    struct pooler *p, const char *url, int skip, const char *backend_pid, int64_t now_ns)
{
    const struct session_params none = {0};
    struct session_reply reply;
    struct err e;

    err_clear(&e);
    if (!p->begun) {
        p->begun = true;
        p->deadline_ns = now_ns + DEADLINE_NS;
        return !session_open(&p->probe, url, skip, now_ns, &e);
    }
    // A missing answer proves nothing, and the start must not wait for ever.
    if (now_ns >= p->deadline_ns || !session_pump(&p->probe, now_ns, &e))
        return true;
    if (!p->probe.up)
        return false;
    if (!p->asked) {
        p->asked = true;
        return !session_query(&p->probe, 0, "SELECT pg_backend_pid()", none, p->deadline_ns, &e);
    }
    if (!session_take(&p->probe, &reply))
        return false;
    // One server process for two sessions that are open at once: only a pooler does that.
    p->shared = session_check_row(reply.result, &e) &&
                strcmp(PQgetvalue(reply.result, 0, 0), backend_pid) == 0;
    PQclear(reply.result);
    return true;
}

bool pooler_step(struct pooler *p, const char *url, int skip, int told_pid, const char *backend_pid,
    int64_t now_ns)
{
    if (told_pid == atoi(backend_pid)) // no pooler answered in place of the server
        return true;
    if (!probe_finished(p, url, skip, backend_pid, now_ns))
        return false;
    session_close(&p->probe);
    return true;
}

void pooler_close(struct pooler *p)
{
    session_close(&p->probe);
    *p = (struct pooler){0};
}
