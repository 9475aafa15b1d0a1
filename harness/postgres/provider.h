// A provider supplies the PostgreSQL server. All have one small interface, so that scenarios and
// faults are the same on each.
//
// A server is opened (prepared, not running), started, broken, started again,
// and closed, which removes everything it left on the machine. One thread does
// that; others may ask it for a conninfo and for its address at any time between,
// and read what does not change once it is started: its database, its roles.
// Functions a provider cannot offer are NULL; the verbs that need them are then
// refused before the run.
#pragma once

#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "os/netns.h"
#include "postgres/sql.h"
#include "scenario/scenario.h"

struct disk;
struct server;

enum server_stop {
    SERVER_STOP_FAST,      // rolls back, writes a checkpoint (SIGINT)
    SERVER_STOP_IMMEDIATE, // as after a crash (SIGQUIT)
    SERVER_STOP_KILL,      // SIGKILL of every process
    SERVER_STOP_POWER,     // killed, and what was not flushed is gone
};

// The faults of a cluster that elects its own leader.
enum cluster_fault {
    CLUSTER_SWITCHOVER,       // it is asked to change its leader
    CLUSTER_KILL_LEADER,      // the leader's machine: every process at once
    CLUSTER_PARTITION_LEADER, // the leader is cut off from the network in both directions
    CLUSTER_KILL_STORE,       // where the members agree on a leader
};

// The result of such a fault.
struct failover {
    int64_t served_ns; // when another member was seen to take writes; 0: not waited for
    bool left_known;   // the old leader's WAL was compared with the new one's timeline
    int64_t left_ns;   // the old leader's commits since this time of the run are lost; 0: none
    char text[160];    // the evidence
};

struct provider {
    const char *name; // as in the scenario file
    MUST_USE bool (*open)(struct server *s, const struct scenario_postgres *want, struct err *e);
    // Returns when the server has answered a full startup handshake.
    MUST_USE bool (*start)(struct server *s, struct err *e);
    MUST_USE bool (*stop)(struct server *s, enum server_stop how, struct err *e);
    // Pausing returns when every process has been seen to stand still.
    MUST_USE bool (*pause)(struct server *s, bool paused, struct err *e);
    // For a role and a database: appends a conninfo string.
    MUST_USE bool (*conninfo)(
        const struct server *s, const char *user, const char *dbname, struct buf *out);
    // Gets the address where the server listens at this moment, for a proxy in between.
    MUST_USE bool (*address)(
        const struct server *s, struct sockaddr_storage *out, socklen_t *len, struct err *e);
    // Kills the primary for good and puts its standby in its place.
    MUST_USE bool (*promote)(struct server *s, struct err *e);
    // Carries out the fault on the cluster. If the leader is to change, returns when another member
    // takes writes. Mending undoes the fault, and returns when the cluster takes writes. NULL: the
    // server is no cluster.
    MUST_USE bool (*strike)(
        struct server *s, enum cluster_fault fault, struct failover *out, struct err *e);
    MUST_USE bool (*mend)(
        struct server *s, enum cluster_fault fault, struct failover *out, struct err *e);
    unsigned strikes; // the faults that strike knows: bits of enum cluster_fault
    // Runs a program where the server runs, and collects its output. NULL: no
    // way in, or this machine is where it runs.
    MUST_USE bool (*exec)(
        const struct server *s, const char *const *argv, char *text, size_t size, struct err *e);
    // Brings the file at log_path up to date; a failure sets log_path to NULL. NULL: the server
    // writes the file itself, or has none.
    void (*fetch_log)(struct server *s);
    // Waits until each member of the cluster that clients may meet has what was written
    // so far. NULL: there is one server, or the provider's clients find the leader.
    MUST_USE bool (*spread)(const struct server *s, struct err *e);
    // Call it when the run's database was prepared: brings all of it to the disk and to every
    // standby, so that a power cut or a failover takes only what came later; at a server elsewhere,
    // finds out whether the run's roles may log in. May be NULL.
    MUST_USE bool (*settle)(struct server *s, struct err *e);
    // The server's own disk, which can crash. NULL: such a provider has none.
    struct disk *(*disk)(const struct server *s);
    // After the disk has failed or was full: waits for the server to come back by
    // itself; where it has ended, or its file system takes no writes any more, mounts
    // the disk anew and starts it. `started` says which.
    MUST_USE bool (*repair)(struct server *s, bool *started, struct err *e);
    // Says in `out` how to reach and remove a server that is left running.
    MUST_USE bool (*keep)(struct server *s, struct buf *out, struct err *e);
    void (*close)(struct server *s);
};

struct server {
    const struct provider *provider;
    void *state;                 // the provider's own
    const char *conninfo;        // --postgres CONNINFO, before open; NULL: none was given
    uint64_t seed;               // draws what a power cut keeps; set before open
    const struct netns *net;     // the run's own network, set before open; NULL: none. Local only
    bool cuts_off;               // members will be cut off from each other; set before open
    const struct netns *clients; // its addresses are reached from this network's collector end;
                                 // NULL: from our own
    const char *database;        // of the run
    const char *superuser;       // role that the harness itself uses
    const char *password;        // for the roles that the harness makes; NULL: none is asked for
    const char *data_dir;        // where the data lies on this machine; NULL: elsewhere
    const char *log_path;        // the server's log; NULL: not available
    bool log_is_live;            // the server writes its messages there at once
    bool running;
    bool shares_pids; // the server's process ids are those of this machine
    pid_t outer_pid;  // else: the pid of its first process on this machine; 0: not visible
    bool paused;      // its processes are stopped: nothing answers
    int version;      // e.g. 150018, known after the first start
};

// A connection to a database of the running server; NULL with the reason.
MUST_USE PGconn *provider_connect(
    const struct server *s, const char *role, const char *dbname, struct err *e);

// Checks that the server answers a full startup handshake; learns its version.
MUST_USE bool provider_handshake(struct server *s, struct err *e);

// Brings the server's log at log_path up to date; log_path stays NULL without a log.
void provider_fetch_log(struct server *s);

// Copies the end of the log, as it was last fetched, into one line; it shows why a server ended.
void provider_log_tail(const struct server *s, char *text, size_t size);

// Returns the length of its log; 0 without one.
long provider_log_length(const struct server *s);

// Returns NULL when there is no such provider.
const struct provider *provider_find(const struct scenario_postgres *want);

// Call it before anything starts. ERR_SKIP says which feature this provider lacks.
MUST_USE bool provider_suits(
    const struct provider *p, const struct scenario_postgres *want, struct err *e);

extern const struct provider provider_local;
extern const struct provider provider_url;
extern const struct provider provider_cluster; // url, with Patroni's REST interface
extern const struct provider provider_container;
extern const struct provider provider_patroni;
