// The families of verbs share these declarations; nobody outside this folder includes them.
#pragma once

#include "fault/fault.h"

// The feature of the server's provider that a verb needs.
enum fault_need {
    NEEDS_NOTHING,
    NEEDS_STOP,
    NEEDS_PAUSE,
    NEEDS_PROMOTE,
    NEEDS_CLUSTER,
    NEEDS_DISK,
    NEEDS_ADDRESS,
    NEEDS_CLOCK
};

// Begins or ends a fault. False with ERR_CONNECTION or ERR_SKIP: it found nothing to hit, so
// fault.c may leave the fault out.
typedef bool fault_step(struct fault_context *c, struct fault_record *r, struct err *e);

// Looks for a victim of the fault and does not touch it. Returns false, with ERR_CONNECTION or
// ERR_SKIP, when there is none.
typedef bool fault_look(struct fault_context *c, const struct fault_record *r, struct err *e);

struct fault_verb {
    enum verb_id id;
    fault_look *look; // NULL: the fault needs no victim
    fault_step *begin;
    fault_step *end; // NULL: the fault takes an instant
    enum fault_need need;
};

// One table of verbs per family, each defined in the family's own file. The last row of a table has
// no `begin`.
extern const struct fault_verb fault_backend_verbs[], fault_server_verbs[], fault_host_verbs[],
    fault_cluster_verbs[], fault_storage_verbs[], fault_collector_verbs[], fault_reader_verbs[],
    fault_sender_verbs[], fault_network_verbs[], fault_idle_verbs[], fault_busy_verbs[],
    fault_clock_verbs[];

// Returns the functions of a verb; NULL when no family has the verb.
const struct fault_verb *fault_verb_find(enum verb_id id);

// Translates a verb that hits a cluster into the provider's name for that fault.
enum cluster_fault fault_cluster_of(enum verb_id id);

// Returns the time until which a fault that begins now waits for a victim.
int64_t fault_victim_deadline_ns(const struct fault_context *c);

// True when a process of the fault's instances runs.
fault_look fault_sees_collector; // collector_faults.c

// Returns the disk of the server; NULL when it is none of the harness's own.
struct disk *fault_disk(const struct fault_context *c); // server_faults.c

// Steps of the server's and of the collectors' family that kill-host uses, too.
fault_step fault_stop_server, fault_start_server; // server_faults.c
fault_step fault_start_collector;                 // collector_faults.c
// Before a power cut, changes pages that the cut may tear. Does nothing for a fault that cuts no
// power.
fault_step fault_change_pages; // server_faults.c

// Counts the lines that contain `words` in the server's log, from byte `from` on.
unsigned fault_count_in_log(const char *path, long from, const char *words); // storage_faults.c

// Waits until these processes of the collector, which got a signal, have ended. Fails after 5 s.
bool fault_await_end(const struct fault_context *c, const pid_t *pids, size_t count,
    struct err *e); // collector_faults.c

// Connects as superuser to a database of the run's server, and turns off the timeouts of
// statements, transactions and idle sessions. On failure, returns NULL with the reason in e.
MUST_USE PGconn *connect_without_timeout(
    const struct fault_context *c, const char *dbname, struct err *e);
