// Carries out the plan's faults and proves that each took effect.
//
// A fault begins and, when it lasts, ends; both are called from the run's main
// thread at their times. A fault that could not be proved makes the run
// inconclusive: `ok` is false and `evidence` says what was seen instead.
#pragma once

#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "fault/proxy.h"
#include "plan/plan.h"
#include "postgres/provider.h"
#include "subject/subject.h"

struct fault_record {
    const struct fault_spec *spec;
    int64_t planned_ns; // absolute, on the run's clock
    int64_t began_ns;   // 0: never begun
    int64_t ended_ns;   // when it was undone; == began_ns' completion for an instant
    bool ok;
    bool left_out; // a repeated fault that found the one before still at work, or nobody to hit
    bool undone;   // an instant is undone as soon as it is over
    char evidence[160];
    uint64_t mark; // what a verb counted when it began
    void *hold;    // what a lasting verb keeps until it ends; the verb's own
};

// What the verbs act on; nothing here is owned.
struct fault_context {
    struct server *server;
    struct subject *subject;
    struct proxy *proxy;     // in the collector's connections; NULL unless the scenario needs it
    const struct netns *net; // between collector and server; NULL unless the scenario needs it
    PGconn *admin;           // re-opened by the verbs when the server was away
};

// Begins the fault of r->spec. A fault in an instant is over when this returns.
void fault_begin(struct fault_context *c, struct fault_record *r);

// Undoes a fault that lasts; nothing for one in an instant.
void fault_end(struct fault_context *c, struct fault_record *r);

// Lets go of what lasting faults still hold, without proving anything: for a run
// that ends before its plan.
void fault_abandon(struct fault_context *c, struct fault_record *records, size_t count);

// True when a fault of the scenario breaks the collector's network, in the
// harness's proxy or in the kernel.
bool fault_needs(const struct scenario *s, enum fault_through through);

// Before anything starts: ERR_SKIP names the fault that this provider's server
// cannot be hurt with.
MUST_USE bool fault_possible(
    const struct provider *provider, const struct scenario *s, struct err *e);

// --- what the families share (backend.c, server.c, collector.c) ---------------

// What a verb asks of the server's provider.
enum fault_need { NEEDS_NOTHING, NEEDS_STOP, NEEDS_PAUSE, NEEDS_PROMOTE, NEEDS_ADDRESS };

struct fault_verb {
    enum verb_id id;
    bool (*begin)(struct fault_context *c, struct fault_record *r, struct err *e);
    bool (*end)(struct fault_context *c, struct fault_record *r, struct err *e); // NULL: instant
    enum fault_need need;
};

// A live connection of the superuser; false while the server is away.
MUST_USE bool fault_admin(struct fault_context *c, struct err *e);

bool fault_terminate_backend(struct fault_context *c, struct fault_record *r, struct err *e);
bool fault_cancel_query(struct fault_context *c, struct fault_record *r, struct err *e);

bool fault_stop_server(struct fault_context *c, struct fault_record *r, struct err *e);
bool fault_start_server(struct fault_context *c, struct fault_record *r, struct err *e);
bool fault_pause_server(struct fault_context *c, struct fault_record *r, struct err *e);
bool fault_promote_standby(struct fault_context *c, struct fault_record *r, struct err *e);
bool fault_continue_server(struct fault_context *c, struct fault_record *r, struct err *e);

bool fault_kill_collector(struct fault_context *c, struct fault_record *r, struct err *e);
bool fault_stop_collector(struct fault_context *c, struct fault_record *r, struct err *e);
bool fault_pause_collector(struct fault_context *c, struct fault_record *r, struct err *e);
bool fault_continue_collector(struct fault_context *c, struct fault_record *r, struct err *e);

bool fault_begin_silence(struct fault_context *c, struct fault_record *r, struct err *e);
bool fault_end_silence(struct fault_context *c, struct fault_record *r, struct err *e);
bool fault_reset(struct fault_context *c, struct fault_record *r, struct err *e);
bool fault_begin_slow(struct fault_context *c, struct fault_record *r, struct err *e);
bool fault_end_slow(struct fault_context *c, struct fault_record *r, struct err *e);
bool fault_cut_at(struct fault_context *c, struct fault_record *r, struct err *e);

bool fault_begin_hold_horizon(struct fault_context *c, struct fault_record *r, struct err *e);
bool fault_end_hold_horizon(struct fault_context *c, struct fault_record *r, struct err *e);
bool fault_begin_lock_jobs(struct fault_context *c, struct fault_record *r, struct err *e);
bool fault_end_lock_jobs(struct fault_context *c, struct fault_record *r, struct err *e);

bool fault_begin_strain(struct fault_context *c, struct fault_record *r, struct err *e);
bool fault_end_strain(struct fault_context *c, struct fault_record *r, struct err *e);

bool fault_pause_reader(struct fault_context *c, struct fault_record *r, struct err *e);
bool fault_slow_reader(struct fault_context *c, struct fault_record *r, struct err *e);
bool fault_resume_reader(struct fault_context *c, struct fault_record *r, struct err *e);
bool fault_close_reader(struct fault_context *c, struct fault_record *r, struct err *e);
