// What the files of the local provider share: the state of its server, and of a standby if there is
// one.
#pragma once

#include <sys/types.h>

#include "os/own_clock.h"
#include "os/workdir.h"
#include "postgres/local/disk.h"
#include "postgres/provider.h"
#include "postgres/local/initdb_template.h"

#define LOCAL_PORT "5432" // part of the socket's name, and the port in the run's own network
#define LOCAL_STANDBY_PORT "5433"

struct local {
    struct workdir dir;
    struct server_user user;
    char bindir[PATH_MAX];
    char data[PATH_MAX];
    char log[PATH_MAX];
    _Atomic(const char *) port;      // atomic: the proxy's thread may read it during a promotion
    const struct settings *settings; // postgres.settings of the scenario
    struct disk disk;                // mounted only if the storage is crashable
    bool crashable;
    const struct netns *net; // NULL: the server has no TCP port, only the socket
    bool shares_socket;      // the subject's user may connect to the server's socket
    pid_t postmaster;        // pid of the server's postmaster; 0: none runs
    struct own_clock clock;  // clock of the servers; its file is "" unless a fault steps clocks
    struct own_clock collectors_clock; // the same for the collectors
    bool detached;                     // the server outlives the harness (--keep)
    enum standby_mode standby_mode;
    char standby_data[PATH_MAX];
    pid_t standby; // pid of the standby's postmaster; 0: there is no standby, or it was promoted
};

// Starts a postmaster and returns its pid, without waiting until it is ready. Returns 0 with the
// reason when it cannot be started.
MUST_USE pid_t local_spawn(
    const struct local *l, const char *data, const char *port, struct err *e);

// Kills a postmaster and all its children. Returns when all of them are reaped and their shared
// memory is removed; fails when some are left after 30 s. `dark`: the server's disk, whose power is
// cut; NULL: no power is cut.
MUST_USE bool local_kill(const struct local *l, pid_t postmaster, struct disk *dark, struct err *e);

// Implements `repair` of struct provider. Waits at most 30 s for the server to come back by itself.
MUST_USE bool local_repair(struct server *s, bool *started, struct err *e);

// Makes a standby of the running server, and waits until it streams. With STANDBY_SYNC every commit
// waits for the standby from then on.
MUST_USE bool standby_make(struct server *s, struct err *e);

// Ends the standby if there is one. From then on no commit of the running server waits for a
// standby.
MUST_USE bool standby_dismiss(struct server *s, struct err *e);

// Kills the primary and promotes the standby, which takes the primary's place in struct local.
MUST_USE bool standby_promote(struct server *s, struct err *e);
