#include "scenario/verbs.h"

#define LASTS (PARAM_FOR | PARAM_NEEDS_FOR)
#define ENDS (PARAM_INSTANCE | PARAM_FOR | PARAM_REST) // of kill-collector and stop-collector

// The shortest length that explore gives a fault which must first fill or use up something, and so
// takes effect late.
#define BUSY_NS (1500 * NS_PER_MS)

// AWAY: the server is away while the fault lasts. LEADER: a cluster loses its leader, and another
// member takes over. SILENCE: the network passes nothing, and no error tells so.
#define AWAY .hits = HITS_SERVER, .does = STOPS, .keeps_away = true, .takes = THING_SERVER
#define NO_ROOM "53100"   // disk_full; these three are SQLSTATEs for `refuses`
#define NO_DISK "58030"   // io_error
#define NO_WRITES "25006" // read_only_sql_transaction
#define LEADER                                                                                     \
    AWAY, .silent = true, .loses = LOSES_UNCONFIRMED, .needs_cluster = true, .refuses = NO_WRITES
#define SILENCE                                                                                    \
    .hits = HITS_NETWORK, .does = STOPS, .ends = MAY_END_SESSIONS, .keeps_away = true,             \
    .silent = true

#define VERB(id, ...) [VERB_##id] = {VERB_##id, __VA_ARGS__}

const struct verb verbs[VERB_COUNT] = {
    VERB(TERMINATE_BACKEND, "terminate-backend", .hits = HITS_SESSIONS, .does = STOPS,
        .ends = ENDS_SESSIONS, .weight = 8, .params = PARAM_TARGET,
        .help = "ends every backend of the target's login role with pg_terminate_backend"),
    VERB(CANCEL_QUERY, "cancel-query", .hits = HITS_SESSIONS, .does = SLOWS,
        .ends = MAY_END_SESSIONS, .params = PARAM_TARGET,
        .help =
            "cancels a query that a backend of the target's is running, with pg_cancel_backend"),
    VERB(STOP_SERVER, "stop-server", AWAY, .ends = ENDS_SESSIONS, .params = LASTS,
        .help = "fast stop; the server is started again when the fault ends"),
    VERB(RESTART_SERVER, "restart-server", AWAY, .ends = ENDS_SESSIONS,
        .help = "fast stop and start at once"),
    VERB(CRASH_SERVER, "crash-server", AWAY, .ends = ENDS_SESSIONS, .loses = LOSES_IF_WAIVED,
        .params = PARAM_FOR,
        .help = "immediate stop, no checkpoint; started again at once or when the fault ends"),
    VERB(KILL_SERVER, "kill-server", AWAY, .ends = ENDS_SESSIONS, .loses = LOSES_IF_WAIVED,
        .params = PARAM_FOR,
        .help =
            "SIGKILL to every process of the server; started again at once or when the fault ends"),
    VERB(PAUSE_SERVER, "pause-server", AWAY, .ends = MAY_END_SESSIONS, .silent = true,
        .params = LASTS,
        .help = "SIGSTOP to every process of the server, SIGCONT when the fault ends"),
    VERB(CUT_POWER, "cut-power", AWAY, .ends = ENDS_SESSIONS, .loses = LOSES_UNFLUSHED, .weight = 1,
        .params = PARAM_FOR, .needs_disk = true,
        .help = "the power is cut: every process dies, and all unflushed data is lost; needs "
                "postgres.storage: crashable"),
    VERB(KILL_HOST, "kill-host", .hits = HITS_HOST, .does = STOPS, .ends = ENDS_PROCESSES,
        .loses = LOSES_UNFLUSHED, .keeps_away = true, .takes = THING_SERVER, .weight = 2,
        .params = PARAM_FOR,
        .help = "the host of server and collectors dies: SIGKILL to all of them at once, and with "
                "postgres.storage: crashable the power is cut; started again at once or when the "
                "fault ends"),
    VERB(SLOW_DISK, "slow-disk", .hits = HITS_SERVER, .does = SLOWS, .takes = THING_DISK,
        .weight = 1, .params = PARAM_BY | LASTS, .needs_disk = true,
        .help = "every flush of the disk takes at least as long as by; needs postgres.storage: "
                "crashable"),
    VERB(FAIL_FLUSH, "fail-flush", AWAY, .ends = ENDS_SESSIONS, .weight = 1,
        .params = PARAM_N | PARAM_FOR, .needs_disk = true, .refuses = NO_DISK,
        .help = "the n-th flush of the disk from now fails with EIO; when the fault ends, a server "
                "that did not come back by itself is started again; needs postgres.storage: "
                "crashable"),
    VERB(FILL_DISK, "fill-disk", AWAY, .ends = MAY_END_SESSIONS, .weight = 1,
        .explore_least_ns = BUSY_NS, .params = LASTS, .needs_disk = true, .refuses = NO_ROOM,
        .help = "the disk is full; when the fault ends, a server that has ended is started again; "
                "needs postgres.storage: crashable"),
    VERB(PROMOTE_STANDBY, "promote-standby", AWAY, .ends = ENDS_SESSIONS,
        .loses = LOSES_UNCONFIRMED, .weight = 1, .needs_standby = true,
        .help = "kills the primary for good and promotes its standby; needs postgres.standby"),
    VERB(SWITCHOVER, "switchover", LEADER, .ends = ENDS_SESSIONS,
        .help = "Patroni changes its leader in good order; needs postgres.provider: patroni, or "
                "postgres.rest"),
    VERB(KILL_LEADER, "kill-leader", LEADER, .ends = ENDS_SESSIONS, .params = PARAM_FOR,
        .help = "the leader's whole machine dies, and another takes over; started again at once or "
                "when the fault ends; needs postgres.provider: patroni"),
    VERB(PARTITION_LEADER, "partition-leader", LEADER, .cuts_off = true, .ends = ENDS_SESSIONS,
        .params = LASTS,
        .help = "the network of the leader's machine is cut, and another takes over; needs "
                "postgres.provider: patroni"),
    VERB(KILL_ETCD, "kill-etcd", LEADER, .ends = ENDS_SESSIONS, .params = LASTS,
        .help = "etcd dies, the store in which the cluster agrees on its leader; started again "
                "when the fault ends; needs postgres.provider: patroni"),
    VERB(KILL_COLLECTOR, "kill-collector", .hits = HITS_PROCESS, .does = STOPS,
        .ends = ENDS_PROCESSES, .weight = 8, .params = ENDS,
        .help = "SIGKILL to the collector's process, or to every instance; started again after 100 "
                "ms, after for, or, with for: rest, never"),
    VERB(STOP_COLLECTOR, "stop-collector", .hits = HITS_PROCESS, .does = STOPS,
        .ends = ENDS_PROCESSES, .asks = true, .wants = THING_COLLECTOR, .weight = 6, .params = ENDS,
        .help = "SIGTERM to the collector, which has a second to end by itself; started again like "
                "one that is killed"),
    VERB(PAUSE_COLLECTOR, "pause-collector", .hits = HITS_PROCESS, .does = STOPS,
        .ends = MAY_END_SESSIONS, .keeps_away = true, .takes = THING_COLLECTOR,
        .params = PARAM_INSTANCE | LASTS,
        .help = "SIGSTOP to the collector, SIGCONT when the fault ends"),
    VERB(PAUSE_READER, "pause-reader", .hits = HITS_READER, .does = STOPS, .takes = THING_READER,
        .weight = 6, .params = PARAM_INSTANCE | LASTS,
        .help = "nobody reads the collector's output while it lasts"),
    VERB(SLOW_READER, "slow-reader", .hits = HITS_READER, .does = SLOWS, .takes = THING_READER,
        .params = PARAM_INSTANCE | PARAM_RATE | LASTS,
        .help = "the collector's output is read at no more than rate, such as 20kB/s"),
    VERB(CLOSE_READER, "close-reader", .hits = HITS_READER, .does = STOPS, .ends = ENDS_PROCESSES,
        .wants = THING_COLLECTOR, .params = PARAM_INSTANCE,
        .help =
            "stops the collector, reads its pipe empty, closes it, lets the collector continue"),
    VERB(KILL_SENDER, "kill-sender", .hits = HITS_SENDER, .does = STOPS, .ends = ENDS_PROCESSES,
        .params = PARAM_INSTANCE,
        .help = "leased mode: the sender that answers dies, and the collector's standard input is "
                "closed"),
    VERB(PAUSE_SENDER, "pause-sender", .hits = HITS_SENDER, .does = STOPS, .takes = THING_SENDER,
        .params = PARAM_INSTANCE | LASTS,
        .help = "leased mode: nothing is answered while it lasts, all of it when the fault ends"),
    VERB(HANG_SENDER, "hang-sender", .hits = HITS_SENDER, .does = STOPS, .takes = THING_SENDER,
        .params = PARAM_INSTANCE | LASTS,
        .help = "leased mode: lines that are read while it lasts are never answered"),
    VERB(PARTITION, "partition", SILENCE, .takes = THING_TO_SERVER | THING_TO_COLLECTOR,
        .params = PARAM_RESET | PARAM_THROUGH | LASTS,
        .help = "silence both ways on the collector's connections; what was withheld arrives when "
                "the fault ends, or with reset is dropped with the connections"),
    VERB(HALF_OPEN, "half-open", SILENCE, .takes = THING_TO_SERVER | THING_TO_COLLECTOR,
        .params = PARAM_DIRECTION | PARAM_RESET | PARAM_THROUGH | LASTS,
        .help = "silence one way on the collector's connections, to-server or to-collector"),
    VERB(RESET, "reset", .hits = HITS_NETWORK, .does = STOPS, .ends = ENDS_SESSIONS, .weight = 6,
        .help = "TCP reset on every connection of the collector"),
    VERB(DELAY, "delay", .hits = HITS_NETWORK, .does = SLOWS, .ends = MAY_END_SESSIONS,
        .takes = THING_DELAY, .params = PARAM_BY | PARAM_JITTER | LASTS,
        .help = "every byte arrives later, each way, by the time given and up to jitter more"),
    VERB(THROTTLE, "throttle", .hits = HITS_NETWORK, .does = SLOWS, .ends = MAY_END_SESSIONS,
        .takes = THING_THROTTLE, .params = PARAM_RATE | LASTS,
        .help = "no more than rate passes, each way, such as 20kB/s"),
    VERB(LIMIT_DATA, "limit-data", .hits = HITS_NETWORK, .does = STOPS, .ends = ENDS_SESSIONS,
        .takes = THING_LIMIT, .params = PARAM_BYTES | LASTS,
        .help = "each connection of the collector ends when so many bytes have passed through it, "
                "both ways, since it was opened"),
    VERB(SLICE, "slice", .hits = HITS_NETWORK, .does = SLOWS, .ends = MAY_END_SESSIONS,
        .takes = THING_SLICE, .params = PARAM_BYTES | PARAM_GAP | LASTS,
        .help = "bytes pass in pieces of at most this size, each way, with a pause after each"),
    VERB(CUT_AT, "cut-at", .hits = HITS_NETWORK, .does = STOPS, .ends = ENDS_SESSIONS, .weight = 8,
        .params = PARAM_MESSAGE | PARAM_N | PARAM_SIDE | PARAM_FOR,
        .help = "the connection ends before or after the n-th message of a kind, which must come "
                "within for (default 5s)"),
    VERB(HOLD_HORIZON, "hold-horizon", .hits = HITS_DATABASE, .does = HOLDS_UP,
        .params = PARAM_PREPARED | PARAM_DATABASE | LASTS,
        .help = "another writing transaction stays open, here or in another database"),
    VERB(OLD_SNAPSHOT, "old-snapshot", .hits = HITS_DATABASE, .does = BURDENS, .params = LASTS,
        .help =
            "a repeatable-read transaction of others stays open, as a dump or a report keeps one"),
    VERB(FILL_NOTIFY_QUEUE, "fill-notify-queue", .hits = HITS_DATABASE, .does = BURDENS,
        .weight = 1, .explore_least_ns = BUSY_NS, .params = PARAM_TO | LASTS,
        .help = "a listener that never reads, and notifications until the queue is as full as to "
                "says"),
    VERB(LOCK_JOBS, "lock-jobs", .hits = HITS_DATABASE, .does = STOPS, .params = LASTS,
        .needs_mail = true, .help = "the table jobs is locked against every change"),
    VERB(EXHAUST_CONNECTIONS, "exhaust-connections", .hits = HITS_DATABASE, .does = STOPS,
        .keeps_away = true, .weight = 1, .explore_least_ns = BUSY_NS, .params = LASTS,
        .help = "every free connection of the server is taken, and each one that becomes free"),
    VERB(LONG_VACUUM, "long-vacuum", .hits = HITS_DATABASE, .does = BURDENS, .weight = 1,
        .params = LASTS, .needs_mail = true,
        .help = "a VACUUM of the table tokens that is slowed down to last that long"),
    VERB(ACTIVE_READERS, "active-readers", .hits = HITS_DATABASE, .does = BURDENS, .weight = 1,
        .params = LASTS, .needs_mail = true,
        .help = "four sessions read accounts and tokens without a pause, each in one old snapshot"),
    VERB(READ_ONLY_SERVER, "read-only-server", .hits = HITS_DATABASE, .does = STOPS,
        .ends = MAY_END_SESSIONS, .takes = THING_WRITES, .params = LASTS, .refuses = NO_WRITES,
        .help = "the server refuses every write: default_transaction_read_only is on, as on a "
                "managed server whose disk is full"),
    VERB(STEP_CLOCK, "step-clock", .hits = HITS_CLOCK, .does = BURDENS, .weight = 1,
        .params = PARAM_TARGET | PARAM_STEP,
        .help = "the clock of the server or of the collectors steps, and stays there; needs "
                "Debian's libfaketime and provider: local"),
};

const struct verb *verb_find(const char *name)
{
    for (size_t i = 0; i < VERB_COUNT; i++)
        if (strcmp(verbs[i].name, name) == 0)
            return &verbs[i];
    return NULL;
}
