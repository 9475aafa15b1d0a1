#include "scenario/verbs.h"

#include <string.h>

#define LASTS (PARAM_FOR | PARAM_NEEDS_FOR)

const struct verb verbs[] = {
    {"terminate-backend", VERB_TERMINATE_BACKEND, PARAM_TARGET, false, false,
        "ends every backend of the target's login role with pg_terminate_backend"},
    {"cancel-query", VERB_CANCEL_QUERY, PARAM_TARGET, false, false,
        "cancels what the target's backends are running with pg_cancel_backend"},
    {"stop-server", VERB_STOP_SERVER, LASTS, false, true,
        "fast stop; the server is started again when it is over"},
    {"restart-server", VERB_RESTART_SERVER, 0, false, true, "fast stop and start at once"},
    {"crash-server", VERB_CRASH_SERVER, PARAM_FOR, false, true,
        "immediate stop, no checkpoint; started again at once or when it is over"},
    {"kill-server", VERB_KILL_SERVER, PARAM_FOR, false, true,
        "SIGKILL to every process of the server; started again at once or when it is over"},
    {"pause-server", VERB_PAUSE_SERVER, LASTS, false, true,
        "SIGSTOP to every process of the server, SIGCONT when it is over"},
    {"kill-collector", VERB_KILL_COLLECTOR, PARAM_INSTANCE, true, false,
        "SIGKILL to the collector's process, or to every instance"},
    {"stop-collector", VERB_STOP_COLLECTOR, PARAM_INSTANCE, true, false,
        "SIGTERM to the collector, which has a second to end by itself"},
    {"pause-collector", VERB_PAUSE_COLLECTOR, PARAM_INSTANCE | LASTS, false, false,
        "SIGSTOP to the collector, SIGCONT when it is over"},
};

const size_t verb_count = sizeof verbs / sizeof *verbs;

// Named by the specification, not yet carried out by this version.
static const char *const planned[] = {"cut-power", "partition", "half-open", "reset", "delay",
    "throttle", "cut-at", "pause-reader", "slow-reader", "close-reader", "promote-standby",
    "hold-horizon", "fill-notify-queue", "lock-jobs", "exhaust-connections", "long-vacuum",
    "active-readers"};

const struct verb *verb_find(const char *name)
{
    for (size_t i = 0; i < verb_count; i++)
        if (strcmp(verbs[i].name, name) == 0)
            return &verbs[i];
    return NULL;
}

bool verb_is_planned(const char *name)
{
    for (size_t i = 0; i < sizeof planned / sizeof *planned; i++)
        if (strcmp(planned[i], name) == 0)
            return true;
    return false;
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
    }
    return "unknown";
}
