// The files of the local provider share this: the cluster, and its standby if it
// has one.
#pragma once

#include <limits.h>
#include <sys/types.h>

#include "os/workdir.h"
#include "postgres/disk.h"
#include "postgres/provider.h"
#include "postgres/template.h"

#define LOCAL_PORT "5432" // names the socket; no port is opened
#define LOCAL_STANDBY_PORT "5433"

struct local {
    struct workdir dir;
    struct server_user user;
    char bindir[PATH_MAX];
    char data[PATH_MAX];
    char log[PATH_MAX];
    _Atomic(const char *) port;      // the proxy's thread reads it, a promotion changes it
    const struct settings *settings; // the scenario's
    struct disk disk;                // mounted only when the storage is to be crashable
    bool crashable;
    const struct netns *net; // NULL: no TCP, only the socket
    pid_t postmaster;        // 0: not running
    bool detached;           // outlives the harness (--keep)
    enum standby_mode standby_mode;
    char standby_data[PATH_MAX];
    pid_t standby; // its postmaster; 0: none, or it was promoted
};

// Starts a postmaster; it is not ready yet. -1 with the reason.
MUST_USE pid_t local_spawn(
    const struct local *l, const char *data, const char *port, struct err *e);

// Kills a postmaster and all its children; returns when all are reaped and their
// shared memory is removed.
MUST_USE bool local_kill(const struct local *l, pid_t postmaster, struct err *e);

// As struct provider says.
MUST_USE bool local_repair(struct server *s, bool *started, struct err *e);

// Builds the standby from the running cluster, and waits until it streams;
// a synchronous one takes part in every commit from then on.
MUST_USE bool standby_make(struct server *s, struct err *e);

// Ends the standby; no commit of the running cluster waits for one any more.
MUST_USE bool standby_dismiss(struct server *s, struct err *e);

// Kills the primary; the standby takes its place in `l`.
MUST_USE bool standby_promote(struct server *s, struct err *e);
