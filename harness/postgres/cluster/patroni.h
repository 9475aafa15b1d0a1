// What the files of the patroni provider share. This provider runs three members, the store in
// which they agree on a leader (etcd), and a proxy that leads to the leader (HAProxy). Each program
// runs on a leash of its own (os/leash.c), which stands for the program's machine: at SIGTERM to
// the leash, everything that the program has started dies at once.
#pragma once

#include <stdatomic.h>
#include <sys/types.h>

#include "os/cluster_net.h"
#include "os/workdir.h"
#include "postgres/cluster/patroni_config.h"
#include "postgres/provider.h"
#include "postgres/local/initdb_template.h"

enum patroni_part { PART_M1, PART_M2, PART_M3, PART_STORE, PART_PROXY, PARTS };

struct patroni {
    struct workdir dir;
    struct server_user user;
    char bindir[PATH_MAX], leash[PATH_MAX], data[PATH_MAX], log[PATH_MAX];
    char proxy[PATH_MAX]; // the folder of HAProxy's socket
    struct patroni_layout at;
    char password[PATRONI_PASSWORD_MAX]; // the password of the roles that the harness makes
    enum route route;
    struct cluster_net lan; // the network of the members; made only if a member is to be cut off
    struct netns clients; // the network for `clients` of struct server: its collector's end is the
                          // middle of the LAN
    pid_t leashes[PARTS]; // pids of the leashes; 0: the program does not run
    bool detached;        // the programs outlive the harness (--keep)
    int killed, cut_off;  // the member that was killed, and the one that is cut off; -1: none
    int leader_before, timeline_before; // the leader at the time when the store was killed, and
                                        // that leader's timeline
    atomic_int leader;                  // the member that last was seen to take writes
};

// --- patroni_parts.c ----------------------------------------------------------------

// Finds the leash program, and checks that patroni, etcd and haproxy are installed. ERR_SKIP names
// one that is missing, and Debian's packages.
MUST_USE bool parts_find(struct patroni *p, struct err *e);

// Starts one of the programs on its leash, without waiting until it is ready.
MUST_USE bool parts_start(struct patroni *p, enum patroni_part part, struct err *e);

// Kills a program with everything that it has started. For a member it also removes the shared
// memory of the member's server.
void parts_kill(struct patroni *p, enum patroni_part part);

// Waits at most 30 s until etcd answers.
MUST_USE bool parts_wait_store(struct patroni *p, struct err *e);

// Makes etcd ask for a password from now on. Call it once, before a member starts.
MUST_USE bool parts_set_store_password(const struct patroni *p, struct err *e);

// --- patroni_leader.c ---------------------------------------------------------------

// Connects as superuser to this member's own socket, which no fault of the network affects.
MUST_USE PGconn *member_connect(const struct server *s, int member, struct err *e);

// True when this member takes writes at this moment. *timeline becomes its timeline, or 0.
bool leader_writes(const struct server *s, int member, int *timeline);

// Returns a member other than `except` (-1: any member) that takes writes; -1: there is none.
int leader_find(const struct server *s, int except, int *timeline);

// Waits for a member other than `except` that takes writes; ERR_SYSTEM after 60 s.
MUST_USE bool leader_wait(
    const struct server *s, int except, int *member, int *timeline, struct err *e);

// Implements `settle` of struct provider. Waits at most 120 s until both other members have
// everything that the leader wrote and stream from it. In a synchronous cluster one of them must
// stream synchronously.
MUST_USE bool leader_wait_followed(struct server *s, struct err *e);

// --- patroni_faults.c ---------------------------------------------------------------

// These implement `strike` and `mend` of struct provider.
MUST_USE bool patroni_strike(
    struct server *s, enum cluster_fault fault, struct failover *out, struct err *e);
MUST_USE bool patroni_mend(
    struct server *s, enum cluster_fault fault, struct failover *out, struct err *e);
