// Carries out the plan's faults and proves that each took effect.
//
// A fault begins and, if it lasts, ends. The run's main thread calls fault_begin and fault_end at
// the times that scheduler.c chooses. A fault without proof makes the run inconclusive: `ok` is
// then false, and `evidence` says what happened instead.
#pragma once

#include <libpq-fe.h>

#include "fault/proxy.h"
#include "plan/plan.h"
#include "postgres/provider.h"
#include "subject/subject.h"

// The reason why a fault did not happen, though nothing went wrong.
enum left_out {
    LEFT_OUT_NOT,
    LEFT_OUT_CANNOT_STRIKE, // the repetition before it still lasted, or a collector's clock cannot
                            // be stepped
    LEFT_OUT_BUSY,          // another planned fault was at work, and it collides with that one or
                            // found nothing to hit
};

struct fault_record {
    const struct fault_spec *spec;
    int64_t planned_ns; // planned time on the run's clock
    int64_t sought_ns;  // when the fault began to look for its victim (scheduler.h); 0: never
    int64_t began_ns;   // when it struck, or last tried to, which may be later; 0: never
    int64_t ended_ns;   // when it was undone or, for an instant fault, when it was done; but
                        // served_ns for a lasting fault that has one
    int64_t served_ns;  // for a fault of the leader: when another member took over; 0: none did, or
                        // nobody waited for that, as with kill-etcd
    int64_t ready_ns;   // in a trial: when the struck instance's connections had opened again and
                        // then been quiet for a while; 0: never
    bool left_known;    // true: left_ns is known
    int64_t left_ns;    // commits acknowledged since this time are lost, by a failover or because
                        // the server stopped; 0: none
    bool ok;
    enum left_out left_out;
    bool undone; // true: the fault was undone; an instant fault counts as undone when it is over
    char evidence[160];
    enum exchange_state wire; // what the collector's connection was doing when the fault began or,
                              // for cut-at, when the wait for its message began
    uint64_t memo; // a number that the verb keeps until the fault ends: a count to compare with, a
                   // place in the server's log, or one bit for each instance that it holds down
    void *kept;    // data that a lasting verb keeps until it ends; the verb owns it. NULL:
                   // fault_abandon leaves the fault alone
};

// The fault context: everything that the verbs act on. It owns nothing.
struct fault_context {
    struct server *server;
    struct subject *subject;
    struct proxy *proxy;     // the proxy of the collector's connections; NULL: there is none
    const struct netns *net; // the network between collector and server; NULL unless the scenario
                             // needs it
    PGconn *admin;           // the superuser's connection; the verbs open it again when the server
                             // was away
    const struct fault_record *begun; // the faults of the plan that have begun; one of them may
                                      // explain why another finds no victim
    size_t begun_count;
    int64_t recovery_ns; // time for which a fault is still felt after it was undone
    uint64_t seed;       // decides how much longer a fault waits after its victim has come
};

// Begins the fault of r->spec. If its victim is away, the fault waits until the victim comes, and
// then for a part of `every` that the seed decides. An instant fault is over when this returns. A
// fault is left out when it finds nothing to hit (ERR_CONNECTION, ERR_SKIP) because another planned
// fault is at work or still felt.
void fault_begin(struct fault_context *c, struct fault_record *r);

// Undoes a lasting fault, and does nothing for an instant one.
void fault_end(struct fault_context *c, struct fault_record *r);

// Ends the faults that still hold something that outlives the run, such as a session or a setting
// of the server. For a run that ends before its plan does.
void fault_abandon(struct fault_context *c, struct fault_record *records, size_t count);

// True when the scenario has a fault of the collector's network that is made in this way: by the
// harness's proxy or by the kernel.
bool fault_needs(const struct scenario *s, enum fault_through through);

// Checks that the provider's server supports all faults of the scenario. Call it before anything
// starts. ERR_SKIP names a fault that it does not support.
MUST_USE bool fault_possible(
    const struct provider *provider, const struct scenario *s, struct err *e);

// Opens c->admin, the superuser's connection, unless it is open. Returns false while the server is
// away.
MUST_USE bool fault_admin(struct fault_context *c, struct err *e);
