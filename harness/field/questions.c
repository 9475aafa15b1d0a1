// The table of the questions of `mailproof field`; each is a column of the field's table.
#include "field/experiment.h"

#define LOAD "load=[{name: paced, for: 6s, rate: 100/s}]"
#define FEW(rate, time) "load=[{name: few, for: " time ", rate: " rate ", arrivals: constant}]"

const struct question questions[] = {
    {"backend ended 3 times", "backend-kill-storm",
        {LOAD, "faults=[{at: 1s, every: 2s, until: 5500ms, do: terminate-backend, target: "
               "collector}]"},
        .asks = ASKS_RECOVERY},
    {"consumer killed 3 times", "collector-killed",
        {LOAD, "faults=[{at: 1s, every: 2s, until: 5500ms, do: kill-collector}]"},
        .asks = ASKS_RECOVERY, .ends_workers = true},
    // Ends only the session that listens for new jobs. Some queues never notice new jobs after
    // that.
    {"listener ended", "backend-kill-storm",
        {LOAD, "faults=[{at: 2s, do: terminate-backend, target: listener}]"},
        .asks = ASKS_RECOVERY},
    {"server killed, started 0.5 s later", "server-crash",
        {LOAD, "faults=[{at: 2s, do: kill-server, for: 500ms}]"}, .asks = ASKS_RECOVERY},
    // The server behaves like one that was demoted behind a pooler, or whose disk is full.
    {"server read-only for 1.5 s", "read-only-server",
        {LOAD, "faults=[{at: 2s, do: read-only-server, for: 1500ms}]"}, .asks = ASKS_RECOVERY},
    // Clients connect to a proxy, which always leads to the present primary, so their address does
    // not change.
    {"standby takes over", "failover-async", {LOAD, "faults=[{at: 2s, do: promote-standby}]"},
        .asks = ASKS_RECOVERY},
    {"silence for 2 s", "partition",
        {LOAD, "faults=[{at: 1s, do: partition, for: 2s, reset: true}]"}, .asks = ASKS_RECOVERY},
    {"half-open for 2 s", "half-open",
        {LOAD, "faults=[{at: 1s, do: half-open, direction: to-collector, for: 2s, reset: true}]"},
        .asks = ASKS_RECOVERY},
    // The consumer is asked to end, as happens at each deployment.
    {"TERM 3 times", "promise-stop",
        {LOAD, "faults=[{at: 1s, every: 2s, until: 5500ms, do: stop-collector}]"},
        .asks = ASKS_RECOVERY, .ends_workers = true},
    {"two consumers, one killed", "collector-killed",
        {LOAD, "collector.instances=2",
            "faults=[{at: 1s, every: 2s, until: 5500ms, do: kill-collector, instance: 0}]"},
        .asks = ASKS_RECOVERY, .ends_workers = true},
    // In the next three questions the harness tells each handler whether to succeed, fail or take
    // long. There are few jobs, because the workers of many queues handle only one job at a time.
    {"a dead worker's job", "collector-killed",
        {FEW("1/s", "3s"), "faults=[{at: 2300ms, do: kill-collector}]",
            "collector.sender={delay: 2s}"},
        .asks = ASKS_RERUN, .ends_workers = true},
    {"a handler longer than its claim", "smoke", {FEW("3/s", "2s"), "collector.instances=2"},
        .asks = ASKS_AT_ONCE},
    {"a job that always fails", "smoke", {FEW("10/s", "1s"), "collector.sender={permanent: 30%}"},
        .asks = ASKS_ATTEMPTS},
    {"commits out of order", "late-commits",
        {"load=[{name: paced, for: 6s, rate: 100/s, connections: 24, hold_open: {share: 0.1, for: "
         "500ms}, rollback: 0.05}]"},
        .asks = ASKS_RECOVERY},
    {"a snapshot stays open", "old-snapshot",
        {LOAD, "faults=[{at: 500ms, do: old-snapshot, for: 5s}]"}, .asks = ASKS_RECOVERY},
};

const size_t question_count = sizeof questions / sizeof *questions;

static const struct question paced = {"paced", "steady", {"load.0.for=6s"}, .asks = ASKS_SPEED};
static const struct question burst = {
    "highest rate", "steady", {"load.0.for=4s"}, .asks = ASKS_SPEED};

const struct question *const question_paced = &paced;
const struct question *const question_burst = &burst;
