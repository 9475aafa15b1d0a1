// Shared by the files of the local provider: the cluster, and its standby if it has one.
#pragma once

#include <limits.h>
#include <sys/types.h>

#include "os/own_clock.h"
#include "os/workdir.h"
#include "postgres/local/disk.h"
#include "postgres/provider.h"
#include "postgres/local/initdb_template.h"

#define LOCAL_PORT "5432" // names the socket; no port is opened
#define LOCAL_STANDBY_PORT "5433"

struct local {
    struct workdir dir;
    struct server_user user;
    char bindir[PATH_MAX];
    char data[PATH_MAX];
    char log[PATH_MAX];
    _Atomic(const char *) port;      // atomic: the proxy's thread reads it while a promotion
                                     // changes it
    const struct settings *settings; // settings of the scenario
    struct disk disk;                // mounted only if the storage is crashable
    bool crashable;
    const struct netns *net;           // NULL: the server has no TCP port, only the socket
    bool shares_socket;                // the subject's user may connect to it
    pid_t postmaster;                  // pid; 0: not running
    struct own_clock clock;            // of the servers; without a file unless clocks step
    struct own_clock collectors_clock; // the same for the collectors
    bool detached;                     // outlives the harness (--keep)
    enum standby_mode standby_mode;
    char standby_data[PATH_MAX];
    pid_t standby; // pid of its postmaster; 0: none, or it was promoted
};

// Starts a postmaster, which is not ready yet. Returns -1 with the reason.
MUST_USE pid_t local_spawn(
    const struct local *l, const char *data, const char *port, struct err *e);

// Kills a postmaster and all its children; returns when all are reaped and their
// shared memory is removed.
MUST_USE bool local_kill(const struct local *l, pid_t postmaster, struct err *e);

// As `repair` of struct provider.
MUST_USE bool local_repair(struct server *s, bool *started, struct err *e);

// Builds the standby from the running cluster, and waits until it streams;
// a synchronous one takes part in every commit from then on.
MUST_USE bool standby_make(struct server *s, struct err *e);

// Ends the standby; no commit of the running cluster waits for one any more.
MUST_USE bool standby_dismiss(struct server *s, struct err *e);

// Kills the primary. The standby takes its place in `l`.
MUST_USE bool standby_promote(struct server *s, struct err *e);
