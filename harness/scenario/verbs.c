#include "scenario/verbs.h"

#include <string.h>

#define LASTS (PARAM_FOR | PARAM_NEEDS_FOR)
#define ENDS (PARAM_INSTANCE | PARAM_FOR | PARAM_REST) // parameters of verbs that end a process

#define VERB(id, ...) [VERB_##id] = {VERB_##id, __VA_ARGS__}

const struct verb verbs[VERB_COUNT] = {
    VERB(TERMINATE_BACKEND, "terminate-backend", .params = PARAM_TARGET,
        .help = "ends every backend of the target's login role with pg_terminate_backend"),
    VERB(CANCEL_QUERY, "cancel-query", .params = PARAM_TARGET,
        .help =
            "cancels a query that a backend of the target's is running, with pg_cancel_backend"),
    VERB(STOP_SERVER, "stop-server", .params = LASTS, .stops_server = true,
        .help = "fast stop; the server is started again when the fault ends"),
    VERB(RESTART_SERVER, "restart-server", .stops_server = true,
        .help = "fast stop and start at once"),
    VERB(CRASH_SERVER, "crash-server", .params = PARAM_FOR, .stops_server = true,
        .help = "immediate stop, no checkpoint; started again at once or when the fault ends"),
    VERB(KILL_SERVER, "kill-server", .params = PARAM_FOR, .stops_server = true,
        .help =
            "SIGKILL to every process of the server; started again at once or when the fault ends"),
    VERB(PAUSE_SERVER, "pause-server", .params = LASTS, .stops_server = true,
        .help = "SIGSTOP to every process of the server, SIGCONT when the fault ends"),
    VERB(CUT_POWER, "cut-power", .params = PARAM_FOR, .stops_server = true, .needs_disk = true,
        .help = "the power is cut: every process dies, and all unflushed data is lost; needs "
                "postgres.storage: crashable"),
    VERB(KILL_HOST, "kill-host", .params = PARAM_FOR, .kills_collector = true, .stops_server = true,
        .help = "the host of server and collectors dies: SIGKILL to all of them at once, and with "
                "postgres.storage: crashable the power is cut; started again at once or when the "
                "fault ends"),
    VERB(SLOW_DISK, "slow-disk", .params = PARAM_BY | LASTS, .needs_disk = true,
        .help = "every flush of the disk takes at least as long as by; needs postgres.storage: "
                "crashable"),
    VERB(FAIL_FLUSH, "fail-flush", .params = PARAM_N | PARAM_FOR, .stops_server = true,
        .needs_disk = true,
        .help = "the n-th flush of the disk from now fails with EIO; when the fault ends, a server "
                "that "
                "did not come back by itself is started again; needs postgres.storage: crashable"),
    VERB(FILL_DISK, "fill-disk", .params = LASTS, .stops_server = true, .needs_disk = true,
        .help = "the disk is full; when the fault ends, a server that has ended is started again; "
                "needs "
                "postgres.storage: crashable"),
    VERB(PROMOTE_STANDBY, "promote-standby", .stops_server = true,
        .help = "kills the primary for good and promotes its standby; needs postgres.standby"),
    VERB(SWITCHOVER, "switchover", .stops_server = true, .needs_cluster = true,
        .help = "Patroni changes its leader in good order; needs postgres.provider: patroni, or "
                "postgres.rest"),
    VERB(KILL_LEADER, "kill-leader", .params = PARAM_FOR, .stops_server = true,
        .needs_cluster = true,
        .help = "the leader's whole machine dies, and another takes over; started again at once or "
                "when the fault ends; needs postgres.provider: patroni"),
    VERB(PARTITION_LEADER, "partition-leader", .params = LASTS, .stops_server = true,
        .needs_cluster = true,
        .help = "the network of the leader's machine is cut, and another takes over; needs "
                "postgres.provider: patroni"),
    VERB(KILL_ETCD, "kill-etcd", .params = LASTS, .stops_server = true, .needs_cluster = true,
        .help = "etcd dies, the store in which the cluster agrees on its leader; started again "
                "when the fault ends; needs postgres.provider: patroni"),
    VERB(KILL_COLLECTOR, "kill-collector", .params = ENDS, .kills_collector = true,
        .help = "SIGKILL to the collector's process, or to every instance; started again after 100 "
                "ms, after for, or, with for: rest, never"),
    VERB(STOP_COLLECTOR, "stop-collector", .params = ENDS, .kills_collector = true,
        .help = "SIGTERM to the collector, which has a second to end by itself; started again like "
                "one that is killed"),
    VERB(PAUSE_COLLECTOR, "pause-collector", .params = PARAM_INSTANCE | LASTS,
        .help = "SIGSTOP to the collector, SIGCONT when the fault ends"),
    VERB(PAUSE_READER, "pause-reader", .params = PARAM_INSTANCE | LASTS,
        .help = "nobody reads the collector's output while it lasts"),
    VERB(SLOW_READER, "slow-reader", .params = PARAM_INSTANCE | PARAM_RATE | LASTS,
        .help = "the collector's output is read at no more than rate, such as 20kB/s"),
    VERB(CLOSE_READER, "close-reader", .params = PARAM_INSTANCE, .kills_collector = true,
        .help =
            "stops the collector, reads its pipe empty, closes it, lets the collector continue"),
    VERB(KILL_SENDER, "kill-sender", .params = PARAM_INSTANCE, .kills_collector = true,
        .on_sender = true,
        .help = "leased mode: the sender that answers dies, and the collector's standard input is "
                "closed"),
    VERB(PAUSE_SENDER, "pause-sender", .params = PARAM_INSTANCE | LASTS, .on_sender = true,
        .help = "leased mode: nothing is answered while it lasts, all of it when the fault ends"),
    VERB(HANG_SENDER, "hang-sender", .params = PARAM_INSTANCE | LASTS, .on_sender = true,
        .help = "leased mode: lines that are read while it lasts are never answered"),
    VERB(PARTITION, "partition", .params = PARAM_RESET | PARAM_THROUGH | LASTS, .on_network = true,
        .help =
            "silence both ways on the collector's connections; what was withheld arrives when the "
            "fault ends, or with reset is dropped with the connections"),
    VERB(HALF_OPEN, "half-open", .params = PARAM_DIRECTION | PARAM_RESET | PARAM_THROUGH | LASTS,
        .on_network = true,
        .help = "silence one way on the collector's connections, to-server or to-collector"),
    VERB(RESET, "reset", .on_network = true,
        .help = "TCP reset on every connection of the collector"),
    VERB(DELAY, "delay", .params = PARAM_BY | PARAM_JITTER | LASTS, .on_network = true,
        .help = "every byte arrives later, each way, by the time given and up to jitter more"),
    VERB(THROTTLE, "throttle", .params = PARAM_RATE | LASTS, .on_network = true,
        .help = "no more than rate passes, each way, such as 20kB/s"),
    VERB(CUT_AT, "cut-at", .params = PARAM_MESSAGE | PARAM_N | PARAM_SIDE | PARAM_FOR,
        .on_network = true,
        .help = "the connection ends before or after the n-th message of a kind, which must come "
                "within for (default 5s)"),
    VERB(HOLD_HORIZON, "hold-horizon", .params = PARAM_PREPARED | PARAM_DATABASE | LASTS,
        .help = "another writing transaction stays open, here or in another database"),
    VERB(OLD_SNAPSHOT, "old-snapshot", .params = LASTS,
        .help =
            "a repeatable-read transaction of others stays open, as a dump or a report keeps one"),
    VERB(FILL_NOTIFY_QUEUE, "fill-notify-queue", .params = PARAM_TO | LASTS,
        .help = "a listener that never reads, and notifications until the queue is as full as to "
                "says"),
    VERB(LOCK_JOBS, "lock-jobs", .params = LASTS,
        .help = "the table jobs is locked against every change"),
    VERB(EXHAUST_CONNECTIONS, "exhaust-connections", .params = LASTS,
        .help = "every free connection of the server is taken, and each one that becomes free"),
    VERB(LONG_VACUUM, "long-vacuum", .params = LASTS,
        .help = "a VACUUM of the table tokens that is slowed down to last that long"),
    VERB(ACTIVE_READERS, "active-readers", .params = LASTS,
        .help = "four sessions read accounts and tokens without a pause, each in one old snapshot"),
};

const struct verb *verb_find(const char *name)
{
    for (size_t i = 0; i < VERB_COUNT; i++)
        if (strcmp(verbs[i].name, name) == 0)
            return &verbs[i];
    return NULL;
}

const char *fault_direction_name(enum fault_direction direction)
{
    return direction == TO_SERVER ? "to-server" : "to-collector";
}

const char *fault_through_name(enum fault_through through)
{
    return through == THROUGH_KERNEL ? "kernel" : "proxy";
}

const char *fault_target_name(enum fault_target target)
{
    switch (target) {
    case TARGET_COLLECTOR:
        return "collector";
    case TARGET_LOAD:
        return "load";
    case TARGET_ALL:
        return "all";
    case TARGET_LISTENER:
        return "listener";
    }
    return "unknown";
}
