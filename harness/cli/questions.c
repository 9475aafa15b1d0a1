#include "cli/questions.h"

#define LOAD "load=[{name: paced, for: 6s, rate: 100/s}]"

const struct question questions[] = {
    {"backend ended 3 times", "backend-kill-storm",
        {LOAD, "faults=[{at: 1s, every: 2s, until: 5500ms, do: terminate-backend, target: "
               "collector}]"},
        true},
    {"consumer killed 3 times", "collector-killed",
        {LOAD, "faults=[{at: 1s, every: 2s, until: 5500ms, do: kill-collector}]"}, true},
    // Ends only the session that listens. Some queues never notice new jobs after that.
    {"listener ended", "backend-kill-storm",
        {LOAD, "faults=[{at: 2s, do: terminate-backend, target: listener}]"}, true},
    {"server killed for 0.5 s", "server-crash",
        {LOAD, "faults=[{at: 2s, do: kill-server, for: 500ms}]"}, true},
    // As a server that was demoted behind a pooler, or whose disk is full.
    {"server read-only for 1.5 s", "read-only-server",
        {LOAD, "faults=[{at: 2s, do: read-only-server, for: 1500ms}]"}, true},
    // The client reaches the primary always at the same address, that of a proxy.
    {"standby takes over", "failover-async", {LOAD, "faults=[{at: 2s, do: promote-standby}]"},
        true},
    {"silence for 2 s", "partition",
        {LOAD, "faults=[{at: 1s, do: partition, for: 2s, reset: true}]"}, true},
    {"half-open for 2 s", "half-open",
        {LOAD, "faults=[{at: 1s, do: half-open, direction: to-collector, for: 2s, reset: true}]"},
        true},
    // The consumer is asked to end, as at each deployment.
    {"TERM 3 times", "promise-stop",
        {LOAD, "faults=[{at: 1s, every: 2s, until: 5500ms, do: stop-collector}]"}, true},
    {"two consumers, one killed", "collector-killed",
        {LOAD, "collector.instances=2",
            "faults=[{at: 1s, every: 2s, until: 5500ms, do: kill-collector, instance: 0}]"},
        true},
    {"commits out of order", "late-commits",
        {"load=[{name: paced, for: 6s, rate: 100/s, connections: 24, hold_open: {share: 0.1, for: "
         "500ms}, rollback: 0.05}]"},
        true},
    {"a snapshot stays open", "old-snapshot",
        {LOAD, "faults=[{at: 500ms, do: old-snapshot, for: 5s}]"}, true},
};

const size_t question_count = sizeof questions / sizeof *questions;

static const struct question paced = {"paced", "steady", {"load.0.for=6s"}, false};
static const struct question burst = {"highest rate", "steady", {"load.0.for=4s"}, false};

const struct question *const question_paced = &paced;
const struct question *const question_burst = &burst;
