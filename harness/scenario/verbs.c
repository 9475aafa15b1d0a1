#include "scenario/verbs.h"

#include <string.h>

#define LASTS (PARAM_FOR | PARAM_NEEDS_FOR)
#define ENDS (PARAM_INSTANCE | PARAM_FOR | PARAM_REST) // a process

const struct verb verbs[] = {
    {"terminate-backend", VERB_TERMINATE_BACKEND, PARAM_TARGET, false, false, false,
        "ends every backend of the target's login role with pg_terminate_backend"},
    {"cancel-query", VERB_CANCEL_QUERY, PARAM_TARGET, false, false, false,
        "cancels a query that a backend of the target's is running, with pg_cancel_backend"},
    {"stop-server", VERB_STOP_SERVER, LASTS, false, true, false,
        "fast stop; the server is started again when it is over"},
    {"restart-server", VERB_RESTART_SERVER, 0, false, true, false, "fast stop and start at once"},
    {"crash-server", VERB_CRASH_SERVER, PARAM_FOR, false, true, false,
        "immediate stop, no checkpoint; started again at once or when it is over"},
    {"kill-server", VERB_KILL_SERVER, PARAM_FOR, false, true, false,
        "SIGKILL to every process of the server; started again at once or when it is over"},
    {"pause-server", VERB_PAUSE_SERVER, LASTS, false, true, false,
        "SIGSTOP to every process of the server, SIGCONT when it is over"},
    {"cut-power", VERB_CUT_POWER, PARAM_FOR, false, true, false,
        "all that was not flushed is gone, and every process; needs postgres.storage: crashable"},
    {"kill-host", VERB_KILL_HOST, PARAM_FOR, true, true, false,
        "the host of server and collectors dies: SIGKILL to all of them at once, and with "
        "postgres.storage: crashable the power is cut; started again at once or when it is over"},
    {"slow-disk", VERB_SLOW_DISK, PARAM_BY | LASTS, false, false, false,
        "every flush of the disk takes at least as long as by; needs postgres.storage: crashable"},
    {"fail-flush", VERB_FAIL_FLUSH, PARAM_N | PARAM_FOR, false, true, false,
        "the n-th flush of the disk from now fails with EIO; when it is over, a server that did "
        "not come back by itself is started again; needs postgres.storage: crashable"},
    {"fill-disk", VERB_FILL_DISK, LASTS, false, true, false,
        "the disk is full; when it is over, a server that has ended is started again; needs "
        "postgres.storage: crashable"},
    {"promote-standby", VERB_PROMOTE_STANDBY, 0, false, true, false,
        "kills the primary for good and promotes its standby; needs postgres.standby"},
    {"kill-collector", VERB_KILL_COLLECTOR, ENDS, true, false, false,
        "SIGKILL to the collector's process, or to every instance; started again after 100 ms, "
        "after "
        "for, or with for: rest not any more"},
    {"stop-collector", VERB_STOP_COLLECTOR, ENDS, true, false, false,
        "SIGTERM to the collector, which has a second to end by itself; started again like one "
        "that "
        "is killed"},
    {"pause-collector", VERB_PAUSE_COLLECTOR, PARAM_INSTANCE | LASTS, false, false, false,
        "SIGSTOP to the collector, SIGCONT when it is over"},
    {"pause-reader", VERB_PAUSE_READER, PARAM_INSTANCE | LASTS, false, false, false,
        "nobody reads the collector's output while it lasts"},
    {"slow-reader", VERB_SLOW_READER, PARAM_INSTANCE | PARAM_RATE | LASTS, false, false, false,
        "the collector's output is read at no more than rate, such as 20kB/s"},
    {"close-reader", VERB_CLOSE_READER, PARAM_INSTANCE, true, false, false,
        "stops the collector, reads its pipe empty, closes it, lets the collector continue"},
    {"kill-sender", VERB_KILL_SENDER, PARAM_INSTANCE, true, false, false,
        "leased mode: whoever answers is gone, the collector's standard input is closed"},
    {"pause-sender", VERB_PAUSE_SENDER, PARAM_INSTANCE | LASTS, false, false, false,
        "leased mode: nothing is answered while it lasts, all of it when it is over"},
    {"hang-sender", VERB_HANG_SENDER, PARAM_INSTANCE | LASTS, false, false, false,
        "leased mode: what is read while it lasts is never answered"},
    {"partition", VERB_PARTITION, PARAM_RESET | PARAM_THROUGH | LASTS, false, false, true,
        "silence both ways on the collector's connections; what was withheld arrives when it is "
        "over, or with reset is dropped with the connections"},
    {"half-open", VERB_HALF_OPEN, PARAM_DIRECTION | PARAM_RESET | PARAM_THROUGH | LASTS, false,
        false, true, "silence one way on the collector's connections, to-server or to-collector"},
    {"reset", VERB_RESET, 0, false, false, true,
        "TCP reset on every connection of the collector's"},
    {"delay", VERB_DELAY, PARAM_BY | PARAM_JITTER | LASTS, false, false, true,
        "every byte arrives later, each way, by the time given and up to jitter more"},
    {"throttle", VERB_THROTTLE, PARAM_RATE | LASTS, false, false, true,
        "no more than rate passes, each way, such as 20kB/s"},
    {"cut-at", VERB_CUT_AT, PARAM_MESSAGE | PARAM_N | PARAM_SIDE | PARAM_FOR, false, false, true,
        "the connection ends before or after the n-th message of a kind, which must come within "
        "for (default 5s)"},
    {"hold-horizon", VERB_HOLD_HORIZON, PARAM_PREPARED | PARAM_DATABASE | LASTS, false, false,
        false, "another writing transaction stays open, here or in another database"},
    {"old-snapshot", VERB_OLD_SNAPSHOT, LASTS, false, false, false,
        "a repeatable-read transaction of others stays open, as a dump or a report keeps one"},
    {"fill-notify-queue", VERB_FILL_NOTIFY_QUEUE, PARAM_TO | LASTS, false, false, false,
        "a listener that never reads, and notifications until the queue is that full"},
    {"lock-jobs", VERB_LOCK_JOBS, LASTS, false, false, false,
        "the table jobs is locked against every change"},
    {"exhaust-connections", VERB_EXHAUST_CONNECTIONS, LASTS, false, false, false,
        "every free connection of the server is taken, and each one that becomes free"},
    {"long-vacuum", VERB_LONG_VACUUM, LASTS, false, false, false,
        "a VACUUM of tokens that creeps from page to page"},
    {"active-readers", VERB_ACTIVE_READERS, LASTS, false, false, false,
        "four sessions read accounts and tokens without a pause, each in one old snapshot"},
};

const size_t verb_count = sizeof verbs / sizeof *verbs;

bool verb_needs_disk(enum verb_id id)
{
    return id == VERB_CUT_POWER || id == VERB_SLOW_DISK || id == VERB_FAIL_FLUSH ||
           id == VERB_FILL_DISK;
}

const struct verb *verb_find(const char *name)
{
    for (size_t i = 0; i < verb_count; i++)
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
