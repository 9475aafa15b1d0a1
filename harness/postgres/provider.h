// A provider supplies the PostgreSQL server. All providers have one small interface, so that
// scenarios and faults are the same on each.
//
// A server is opened (prepared, not running), started, broken, started again, and closed, which
// removes everything that it left on the machine. One thread does all this. From the first start to
// the close, other threads may ask for a conninfo or for the server's address at any time, and may
// read the members that do not change once the server is started: its database, its roles.
//
// A function that a provider cannot offer is NULL. Fault verbs that need that function are then
// refused before the run.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include "os/netns.h"
#include "postgres/sql.h"
#include "scenario/scenario.h"

struct disk;
struct own_clock;
struct server;

enum server_stop {
    SERVER_STOP_FAST,      // SIGINT: open transactions are rolled back, and a checkpoint is written
    SERVER_STOP_IMMEDIATE, // SIGQUIT: the server recovers at its next start, as after a crash
    SERVER_STOP_KILL,      // SIGKILL of every process
    SERVER_STOP_POWER,     // all processes are killed, and unflushed writes may be lost
};

// The faults of a cluster that elects its own leader.
enum cluster_fault {
    CLUSTER_SWITCHOVER,       // the cluster is asked to change its leader
    CLUSTER_KILL_LEADER,      // the leader's machine fails: all its processes end at once
    CLUSTER_PARTITION_LEADER, // the leader is cut off from the network in both directions
    CLUSTER_KILL_STORE,       // the store, in which the members agree on a leader, fails
};

// What a fault of the cluster did.
struct failover {
    int64_t served_ns;     // when another member was seen to take writes; 0: nobody waited for that
    bool lost_known;       // true: it is known whether commits of the old leader are lost
    int64_t first_lost_ns; // time of the first commit of the old leader that is lost; 0: none
    char text[160];        // the evidence, in words
};

struct provider {
    const char *name; // as the scenario file spells it
    MUST_USE bool (*open)(struct server *s, const struct scenario_postgres *want, struct err *e);
    // Returns when the server has answered a full startup handshake.
    MUST_USE bool (*start)(struct server *s, struct err *e);
    MUST_USE bool (*stop)(struct server *s, enum server_stop how, struct err *e);
    // Pausing returns when every process has been seen to stand still.
    MUST_USE bool (*pause)(struct server *s, bool paused, struct err *e);
    // Appends a conninfo string for a role and a database.
    MUST_USE bool (*conninfo)(
        const struct server *s, const char *user, const char *dbname, struct buf *out);
    // Fills in the address at which the server listens at this moment, for a proxy that connects to
    // it.
    MUST_USE bool (*address)(
        const struct server *s, struct sockaddr_storage *out, socklen_t *len, struct err *e);
    // Kills the primary for good, and promotes the standby, which becomes the server.
    MUST_USE bool (*promote)(struct server *s, struct err *e);
    // strike carries out the fault on the cluster. If the leader is to change, it returns when
    // another member takes writes. mend undoes the fault, and returns when the cluster takes
    // writes. strike is NULL for a server that is no cluster; mend is NULL if no fault needs it.
    MUST_USE bool (*strike)(
        struct server *s, enum cluster_fault fault, struct failover *out, struct err *e);
    MUST_USE bool (*mend)(
        struct server *s, enum cluster_fault fault, struct failover *out, struct err *e);
    unsigned strikes; // the faults that strike knows: bit 1 << fault for each enum cluster_fault
    // Runs a program on the server's machine, and collects the program's output. NULL: the server
    // is on this machine, or we cannot run anything on its machine.
    MUST_USE bool (*exec)(
        const struct server *s, const char *const *argv, char *text, size_t size, struct err *e);
    // Brings the file at log_path up to date; a failure sets log_path to NULL. The function is NULL
    // when the server writes that file itself or there is no log.
    void (*fetch_log)(struct server *s);
    // Waits until each member of the cluster that clients may meet has all that was written so far.
    // NULL: there is one server, or the provider's clients always find the leader.
    MUST_USE bool (*spread)(const struct server *s, struct err *e);
    // Call it after the run's database was prepared. A server of ours brings the database to the
    // disk and to every standby, so that a power cut or a failover takes only what came later. For
    // a server elsewhere it finds out whether the run's roles may log in. May be NULL.
    MUST_USE bool (*settle)(struct server *s, struct err *e);
    // Returns the server's own disk, which can crash; NULL when this server has none. The function
    // is NULL when no server of the provider has one.
    struct disk *(*disk)(const struct server *s);
    // Returns the clock of the server (whose: TARGET_SERVER) or the one of the collectors.
    // `steps_clock` must have been set before open. The function is NULL when the provider has no
    // such clocks.
    struct own_clock *(*clock)(const struct server *s, enum fault_target whose);
    // Call it after the disk has failed or was full. Waits for the server to come back by itself.
    // But if the server has ended, or its file system takes no writes any more, mounts the disk
    // anew and starts the server. *started says whether the server was started.
    MUST_USE bool (*repair)(struct server *s, bool *started, struct err *e);
    // Leaves the server running, and appends to `out` how to reach and how to remove it.
    MUST_USE bool (*keep)(struct server *s, struct buf *out, struct err *e);
    void (*close)(struct server *s);
};

struct server {
    const struct provider *provider;
    void *state;                 // owned by the provider: its own data
    const char *conninfo;        // the argument of --postgres, set before open; NULL: none was
                                 // given
    uint64_t seed;               // chooses what a power cut keeps; set before open
    const struct netns *net;     // the run's own network, set before open; NULL: none. Only the
                                 // local provider uses it
    bool cuts_members_off;       // true: members will be cut off from each other; set before open
    bool steps_clock;            // true: its clock or the collectors' will step; set before open
    const struct netns *clients; // the network from whose collector end the server's addresses can
                                 // be reached; NULL: they can be reached from our own network
    const char *database;        // the database of the run
    const char *superuser;       // role that the harness itself uses
    const char *password;        // password of the roles that the harness makes; NULL: they need
                                 // none
    const char *data_dir;        // the data folder, if it is on this machine and we may write to
                                 // it; else NULL
    const char *log_path;        // the server's log; NULL: not available
    bool log_is_live;            // true: the server writes its messages to log_path at once
    bool running;
    bool pids_are_ours; // the server's process ids are valid on this machine
    pid_t outer_pid; // without pids_are_ours: the pid that the server's first process has on this
                     // machine; 0: not visible
    bool paused;     // true: the server's processes are stopped (SIGSTOP), and nothing answers
    int version;     // e.g. 150018, known after the first start
};

// Appends the conninfo of a role in a database, and a NUL, so that out->data is a string until the
// next append.
MUST_USE bool provider_conninfo(
    const struct server *s, const char *role, const char *dbname, struct buf *out, struct err *e);

// Connects to a database of the running server; NULL with the reason.
MUST_USE PGconn *provider_connect(
    const struct server *s, const char *role, const char *dbname, struct err *e);

// Checks that the server answers a full startup handshake; learns its version.
MUST_USE bool provider_handshake(struct server *s, struct err *e);

// Brings the server's log at log_path up to date. log_path is NULL without a log, and from a
// failure on.
void provider_fetch_log(struct server *s);

// Copies the end of the log, as it was last fetched, into `text` as one line, to show why a server
// ended. "" without a log.
void provider_log_tail(const struct server *s, char *text, size_t size);

// Returns the length of the server's log in bytes; 0 without a log.
long provider_log_length(const struct server *s);

// The settings that each server of ours gets, unless the scenario sets them.
#define PROVIDER_SETTINGS 8
extern const struct settings provider_settings;

// Appends to argv, which has n words, "-c NAME=VALUE" for each setting that a server of ours gets:
// first provider_settings, then the scenario's, because of two values for a setting the later one
// counts. Ends argv with NULL. `texts` is room for the words, and must live as long as argv.
#define PROVIDER_TEXTS_MAX (PROVIDER_SETTINGS + SERVER_SETTINGS_MAX)
void provider_add_settings(const struct settings *settings, char (*texts)[SERVER_SETTING_SIZE],
    const char **argv, size_t n);

// Finds the provider that a scenario wants; NULL when there is none.
const struct provider *provider_find(const struct scenario_postgres *want);

// Checks that the provider can offer what the scenario wants of the server. Call it before anything
// starts. ERR_SKIP says which feature the provider lacks.
MUST_USE bool provider_suits(
    const struct provider *p, const struct scenario_postgres *want, struct err *e);

extern const struct provider provider_local;
extern const struct provider provider_url;
extern const struct provider provider_cluster; // provider url, when postgres.rest is given
extern const struct provider provider_container;
extern const struct provider provider_patroni;
