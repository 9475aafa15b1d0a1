// Repairs a server whose disk has failed or was full: waits for it to come back, or starts it again
// if it cannot.
#include "postgres/local/local.h"

#include "os/interrupt.h"
#include "os/process.h"

static const int64_t comeback_limit_ns = 30 * NS_PER_S;
static const int64_t poll_ns = 20 * NS_PER_MS;

// True when the server must be started again: it has ended, or its file system takes no writes any
// more.
static bool must_be_started(struct local *l)
{
    if (l->postmaster && process_wait(l->postmaster, 0, NULL))
        l->postmaster = 0;
    return !l->postmaster || disk_is_read_only(&l->disk);
}

// Kills the server if it still runs, mounts the disk anew, and starts the server.
static bool start_anew(struct server *s, struct err *e)
{
    struct local *l = s->state;

    s->running = false;
    return s->provider->stop(s, SERVER_STOP_KILL, e) && disk_unmount(&l->disk, e) &&
           s->provider->start(s, e);
}

bool local_repair(struct server *s, bool *started, struct err *e)
{
    struct local *l = s->state;
    int64_t deadline = clock_now_ns() + comeback_limit_ns;

    for (;;) {
        *started = must_be_started(l);
        if (*started)
            return start_anew(s, e);
        if (provider_handshake(s, e))
            return true;
        if (clock_now_ns() > deadline)
            return err_prefix(e, "the server did not come back within 30 s");
        if (!interrupt_sleep(poll_ns, e))
            return false;
    }
}
