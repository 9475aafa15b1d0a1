// The table of fault verbs: all that validation, the plan, the checks, explore and `mailproof list`
// know of them. The functions that carry them out are in fault/.
#pragma once

#include "base/base.h"

enum fault_target { TARGET_COLLECTOR, TARGET_LOAD, TARGET_ALL, TARGET_LISTENER, TARGET_SERVER };

// The direction in which a half-open connection swallows bytes.
enum fault_direction { TO_SERVER, TO_COLLECTOR };

// How a network fault is made: by the harness's proxy, or by the kernel between two network
// namespaces.
enum fault_through { THROUGH_PROXY, THROUGH_KERNEL };

enum cut_side { CUT_BEFORE, CUT_AFTER };

enum fault_database { DATABASE_RUN, DATABASE_OTHER };

// The verbs in the order of the table, so that verbs[id].id == id.
enum verb_id {
    VERB_TERMINATE_BACKEND,
    VERB_CANCEL_QUERY,
    VERB_STOP_SERVER,
    VERB_RESTART_SERVER,
    VERB_CRASH_SERVER,
    VERB_KILL_SERVER,
    VERB_PAUSE_SERVER,
    VERB_CUT_POWER,
    VERB_KILL_HOST,
    VERB_SLOW_DISK,
    VERB_FAIL_FLUSH,
    VERB_FILL_DISK,
    VERB_PROMOTE_STANDBY,
    VERB_SWITCHOVER,
    VERB_KILL_LEADER,
    VERB_PARTITION_LEADER,
    VERB_KILL_ETCD,
    VERB_KILL_COLLECTOR,
    VERB_STOP_COLLECTOR,
    VERB_PAUSE_COLLECTOR,
    VERB_PAUSE_READER,
    VERB_SLOW_READER,
    VERB_CLOSE_READER,
    VERB_KILL_SENDER,
    VERB_PAUSE_SENDER,
    VERB_HANG_SENDER,
    VERB_PARTITION,
    VERB_HALF_OPEN,
    VERB_RESET,
    VERB_DELAY,
    VERB_THROTTLE,
    VERB_LIMIT_DATA,
    VERB_SLICE,
    VERB_CUT_AT,
    VERB_HOLD_HORIZON,
    VERB_OLD_SNAPSHOT,
    VERB_FILL_NOTIFY_QUEUE,
    VERB_LOCK_JOBS,
    VERB_EXHAUST_CONNECTIONS,
    VERB_LONG_VACUUM,
    VERB_ACTIVE_READERS,
    VERB_READ_ONLY_SERVER,
    VERB_STEP_CLOCK,
    VERB_COUNT,
};

// The parameters of verbs, beside at, every and until.
enum verb_param {
    PARAM_FOR = 1 << 0,       // the fault may last; without `for` it takes an instant
    PARAM_NEEDS_FOR = 1 << 1, // `for` must be given; always set together with PARAM_FOR
    PARAM_TARGET = 1 << 2,
    PARAM_INSTANCE = 1 << 3,
    PARAM_DIRECTION = 1 << 4,
    PARAM_BY = 1 << 5,     // must be given; so must `rate`, `message` and `bytes`
    PARAM_JITTER = 1 << 6, // `jitter` varies the delay of each byte, and not the times of the fault
    PARAM_RATE = 1 << 7,
    PARAM_RESET = 1 << 8,
    PARAM_MESSAGE = 1 << 9,
    PARAM_N = 1 << 10,
    PARAM_SIDE = 1 << 11,
    PARAM_PREPARED = 1 << 12,
    PARAM_DATABASE = 1 << 13,
    PARAM_TO = 1 << 14,
    PARAM_THROUGH = 1 << 15,
    PARAM_REST = 1 << 16, // `for` may be `rest`
    PARAM_STEP = 1 << 17, // `by` is how far a clock steps, not how long something takes
    PARAM_BYTES = 1 << 18,
    PARAM_GAP = 1 << 19,
};

// What a fault acts on.
enum verb_hits {
    HITS_DATABASE, // other sessions in the database, or a setting, get in the collector's way
    HITS_SESSIONS,
    HITS_PROCESS, // the collector's process
    HITS_READER,
    HITS_SENDER,  // played by the harness, with collector.dequeue: leased
    HITS_NETWORK, // between the collector and the server
    HITS_SERVER,
    HITS_HOST, // the machine of the server and the collectors
    HITS_CLOCK,
};

// How a fault keeps the subject from its work while it lasts.
enum verb_does {
    BURDENS,  // the subject can go on, perhaps on a server that has more to do
    HOLDS_UP, // the fault delays only a subject that waits for open writing transactions
    SLOWS,
    STOPS,
};

// What a fault ends for good. MAY_END_SESSIONS: the fault itself ends none, but the subject may end
// its session by itself, for example when it hears nothing.
enum verb_ends { ENDS_NOTHING, MAY_END_SESSIONS, ENDS_SESSIONS, ENDS_PROCESSES };

// When a fault may lose commits that the server has acknowledged.
enum verb_loses {
    LOSES_NOTHING,
    LOSES_IF_WAIVED,   // with postgres.durability: waive
    LOSES_UNFLUSHED,   // with postgres.durability: waive, or postgres.disk other than honest
    LOSES_UNCONFIRMED, // with postgres.durability: waive, or without a synchronous standby
};

// The things that a fault takes hold of while it lasts. Another fault that takes or wants the same
// thing then collides with it, because the end of one would also end the other.
enum verb_thing {
    THING_SERVER = 1 << 0,
    THING_DELAY = 1 << 1,
    THING_THROTTLE = 1 << 2,
    THING_DISK = 1 << 3,
    THING_TO_SERVER = 1 << 4, // of these two, a half-open takes only that of its `direction`
    THING_TO_COLLECTOR = 1 << 5,
    THING_COLLECTOR = 1 << 6, // of one instance, as are reader and sender
    THING_READER = 1 << 7,
    THING_SENDER = 1 << 8,
    THING_WRITES = 1 << 9,
    THING_LIMIT = 1 << 10,
    THING_SLICE = 1 << 11,
};

// Everything about a verb except the functions that carry it out, which are in fault/.
struct verb {
    enum verb_id id;
    const char *name; // as the scenario file spells it
    unsigned params;  // bits of enum verb_param
    enum verb_hits hits;
    enum verb_does does;
    enum verb_ends ends;
    enum verb_loses loses;
    bool keeps_away; // no new session can be opened while it lasts
    bool silent;     // nothing tells the subject: it must notice the fault by its own timers
    bool asks;       // it asks the process to end (SIGTERM), so the process may take a while
    unsigned takes;  // bits of enum verb_thing
    unsigned wants;  // bits of enum verb_thing: no other fault may hold these when this one begins,
                     // but this one does not take them. For example, a paused collector cannot
                     // obey stop-collector
    bool needs_disk; // acts on the harness's own disk, so it needs postgres.storage: crashable
    bool needs_cluster;  // acts on a cluster: needs provider: patroni or postgres.rest
    bool needs_standby;  // acts once, on the standby, so it needs postgres.standby
    bool needs_mail;     // acts on tables of the mail schema, which no other queue has
    bool cuts_off;       // cuts a member of the cluster off from the others
    const char *refuses; // SQLSTATE with which the server refuses writes while it lasts; NULL: it
                         // refuses none
    unsigned weight;     // how likely explore is to draw it; 0: as likely as most verbs
    int64_t explore_least_ns; // the shortest length that explore gives it
    const char *help;         // one line of help
};

extern const struct verb verbs[VERB_COUNT];

// True when the server is away while the fault lasts.
static inline bool verb_stops_server(const struct verb *v)
{
    return v->does == STOPS && (v->hits == HITS_SERVER || v->hits == HITS_HOST);
}

// Finds a verb by its name; NULL when there is none.
const struct verb *verb_find(const char *name);
