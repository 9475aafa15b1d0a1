// Keys that are valid alone, but do not fit together or need a key that is missing.
#include "scenario/tests/refusals.h"

static void says_what_cannot_be_done(void **state)
{
    static const struct wrong cases[] = {
        {HEAD LOAD "postgres: {provider: container, storage: crashable}\n",
            "x.yaml:6:42: postgres.storage: only provider: local can be crashable"},
        {HEAD LOAD "counterparts:\n  - {breaks: [lost]}\n",
            "x.yaml:7:5: counterparts.0: 'collector' or 'set' should say what must fail"},
        {HEAD LOAD "counterparts:\n  - {collector: mine, breaks: []}\n",
            "x.yaml:7:31: counterparts.0.breaks: there should be at least one metric"},
        {HEAD LOAD "counterparts:\n  - {collector: mine, breaks: [lots]}\n",
            "x.yaml:7:32: counterparts.0.breaks.0: 'lots' is not a metric; did you mean 'lost'?"},
        {HEAD LOAD "counterparts:\n  - {set: [seed], breaks: [lost]}\n",
            "x.yaml:7:12: counterparts.0.set.0: 'seed' should be key.path=value"},
        {HEAD LOAD "collector: {returns_within: 6s}\n",
            "x.yaml:6:29: collector.returns_within: this is longer than recovery_limit; shorten "
            "it, or raise that limit"},
        {HEAD LOAD "recovery_limit: 1s\ncollector: {starts_within: 1001ms}\n",
            "x.yaml:7:28: collector.starts_within: this is longer than recovery_limit; shorten it, "
            "or raise that limit"},
        {HEAD LOAD "postgres: {disk: lying}\n",
            "x.yaml:6:18: postgres.disk: this needs postgres.storage: crashable"},
        {HEAD LOAD "postgres: {provider: cloud}\n",
            "x.yaml:6:22: postgres.provider: 'cloud' should be local, container, url or patroni"},
        {HEAD LOAD "faults:\n  - {at: 1s, do: cut-power}\n",
            "x.yaml:7:18: faults.0.do: cut-power needs postgres.storage: crashable"},
        {HEAD LOAD "faults:\n  - {at: 1s, do: hang-sender, for: 1s}\n",
            "x.yaml:7:18: faults.0.do: hang-sender needs collector.dequeue: leased"},
        {HEAD LOAD "collector: {subject: textbook, sender: {error: 1%, dies: 2%}}\n",
            "x.yaml:6:58: collector.sender.dies: a queue's handlers end with its consumer; write a "
            "fault such as kill-collector"},
        {HEAD LOAD "postgres: {provider: url, standby: sync}\n",
            "x.yaml:6:36: postgres.standby: only provider: local and provider: patroni can have a "
            "standby"},
        {HEAD LOAD "postgres: {provider: patroni}\n",
            "x.yaml:1:1: provider: patroni needs postgres.standby: async or sync"},
        {HEAD LOAD "postgres: {announce: never}\n",
            "x.yaml:6:22: postgres.announce: 'never' should be each or bell"},
        {HEAD LOAD "postgres: {announce: bell, schema: 16}\n",
            "x.yaml:6:22: postgres.announce: announce: bell needs postgres.schema: 17 or later"},
        {HEAD LOAD "postgres: {announce: bell}\ncollector: {dequeue: leased}\n",
            "x.yaml:6:22: postgres.announce: leased collectors need announce: each"},
        {HEAD LOAD "postgres: {route: proxy}\n",
            "x.yaml:6:19: postgres.route: route: proxy needs postgres.provider: patroni"},
        {HEAD LOAD "faults:\n  - {at: 1s, do: switchover}\n",
            "x.yaml:7:18: faults.0.do: switchover needs postgres.provider: patroni"},
        {HEAD LOAD "faults:\n  - {at: 1s, do: promote-standby}\n",
            "x.yaml:7:18: faults.0.do: promote-standby needs postgres.standby: async or sync"},
        {HEAD LOAD "faults:\n  - {at: 1s, do: cut-at, message: x, n: 1}\n",
            "x.yaml:7:35: faults.0.message: 'x' names no message; write its sender and its name, "
            "such as client Bind or server CommandComplete UPDATE"},
        {HEAD LOAD "faults:\n  - {at: 1s, do: cut-at, message: client Bnd}\n",
            "x.yaml:7:35: faults.0.message: 'Bnd' is not a message that a client sends; did you "
            "mean "
            "'Bind'?"},
        {HEAD LOAD "faults:\n  - {at: 1s, do: cut-at, message: client Bind UPDATE}\n",
            "x.yaml:7:35: faults.0.message: 'client Bind UPDATE': only server CommandComplete "
            "takes "
            "a command's tag"},
        {HEAD LOAD "faults:\n  - {at: 1s, do: cut-at}\n",
            "x.yaml:7:5: faults.0: 'message' is missing: cut-at needs it"},
        {HEAD LOAD "faults:\n  - {at: 1s, do: throttle, for: 1s, rate: 20/s}\n",
            "x.yaml:7:43: faults.0.rate: '20/s' is not a rate in bytes; write one such as 20kB/s"},
        {HEAD LOAD "faults:\n  - {at: 1s, do: kill-server, through: kernel}\n",
            "x.yaml:7:31: faults.0: kill-server takes no 'through'; partition and "
            "half-open "
            "do"},
        {HEAD LOAD "faults:\n  - {at: 1s, do: half-open, for: 1s, through: wire}\n",
            "x.yaml:7:47: faults.0.through: 'wire' should be proxy or kernel"},
        {HEAD LOAD "faults:\n  - {at: 1s, do: partition, for: 1s, through: kernel, reset: true}\n",
            "x.yaml:7:55: faults.0: the kernel drops what it withholds, and never resets; "
            "leave 'reset' out"},
        {HEAD LOAD "faults:\n  - {at: 1s, do: partition, for: 1s, through: kernel}\n"
                   "  - {at: 2s, do: kill-server}\n  - {at: 3s, do: reset}\n",
            "x.yaml:9:5: faults.2: reset would go through the proxy and partition before it "
            "through the kernel; in one scenario all go the same way"},
        {HEAD LOAD "postgres: {provider: container}\n"
                   "faults:\n  - {at: 1s, do: partition, for: 1s, through: kernel}\n",
            "x.yaml:8:47: faults.0.through: through: kernel needs postgres.provider: local"},
    };

    CHECK_ALL(cases);
}

static void refuses_what_does_not_fit_together(void **state)
{
    static const struct wrong cases[] = {
        {"name: y\nsummary: A test.\n" LOAD,
            "x.yaml:1:7: name: 'y' should be the file's name without .yaml"},
        {"name: X Y\nsummary: A test.\n" LOAD,
            "x.yaml:1:7: name: 'X Y' should be at most 64 small letters, digits and '-'"},
        {HEAD LOAD "tags: [quick, Fault]\n",
            "x.yaml:6:15: tags.1: 'Fault' should be at most 64 small letters, digits and '-'"},
        {HEAD LOAD "collector: {batch_timeout: 10ms, adaptive_from: 20ms}\n",
            "x.yaml:6:49: collector.adaptive_from: this is the lower bound of a window: whole "
            "milliseconds, at most batch_timeout"},
        {HEAD LOAD "collector: {batch_timeout: 10ms, adaptive_from: 1500us}\n",
            "x.yaml:6:49: collector.adaptive_from: this is the lower bound of a window: whole "
            "milliseconds, at most batch_timeout"},
        {HEAD LOAD "collector: {batch_timeout: 1500us}\n",
            "x.yaml:6:28: collector.batch_timeout: collectors count in whole milliseconds"},
        {HEAD LOAD "collector: {env: {MAILROOM_BATCH_LIMIT: 5}}\n",
            "x.yaml:6:19: collector.env: 'MAILROOM_BATCH_LIMIT' cannot be set here; it is made "
            "from collector.batch_limit"},
        {HEAD LOAD "collector: {env: {MAILROOM_DAILY: 5}}\n",
            "x.yaml:6:19: collector.env: 'MAILROOM_DAILY' cannot be set here; what waits for "
            "tomorrow would count as lost; use MAILROOM_BUDGET"},
        {HEAD LOAD "collector: {dequeue: leased, env: {MAILROOM_DEQUEUE: shared}}\n",
            "x.yaml:6:54: collector.env.MAILROOM_DEQUEUE: 'shared' is not what collector.dequeue "
            "says: 'leased'"},
        {HEAD LOAD "collector: {deqeue: shared}\n",
            "x.yaml:6:13: collector: 'deqeue' is not a key that is known here; did you mean "
            "'dequeue'?"},
        {HEAD LOAD "collector: {env: {\"A B\": 5}}\n",
            "x.yaml:6:19: collector.env: 'A B' is not the name of an environment variable"},
        {HEAD LOAD "postgres: {settings: {\"a b\": 5}}\n",
            "x.yaml:6:23: postgres.settings: 'a b' is not the name of a server setting"},
        {HEAD "load:\n  - {for: 1s, rate: 1/s, recovery: 0.6, ineligible: 0.5}\n",
            "x.yaml:4:5: load.0: recovery, ineligible and unsendable are shares of the same "
            "tokens; "
            "together they should not exceed 1"},
        {HEAD "load:\n  - {for: 1s, rate: 1/s, insrt: copy}\n",
            "x.yaml:4:26: load.0: 'insrt' is not a key that is known here; did you mean 'insert'?"},
        {HEAD "load:\n  - {for: 1s, rate: 1/s, insert: bulk}\n",
            "x.yaml:4:34: load.0.insert: 'bulk' should be row, savepoint, copy or upsert"},
        {HEAD "load:\n  - {for: 1s, rate: 1/s, changes: {deleted: 0.1}}\n",
            "x.yaml:4:36: load.0.changes: 'deleted' is not a key that is known here; did you mean "
            "'delete'?"},
        {HEAD "load:\n  - {for: 1s, rate: 1/s, changes: {delete: 0.6, consume: 0.5}}\n",
            "x.yaml:4:35: load.0.changes: these are shares of the same tokens; together they "
            "should not exceed 1"},
        {HEAD "load:\n  - {for: 1s, rate: 1/s}\n  - {for: 1s, rate: 1/s, ids_from: 5}\n",
            "x.yaml:5:26: load.1: only the first phase can say where ids begin: the next one goes "
            "on "
            "from there"},
        {HEAD "load:\n  - {for: 1s, rate: 1/s}\n  - {for: 1s, rate: 1/s, backlog: 5}\n",
            "x.yaml:5:26: load.1: only the first phase can have a backlog: the collector starts "
            "before the second"},
        {HEAD "load:\n  - {for: 1s, rate: 1/s, hold_open: {share: 0.1, for: 0s}}\n",
            "x.yaml:4:37: load.0.hold_open: 'for' should be longer than 0s"},
        {HEAD "load:\n  - {for: 1s, rate: 1/s, name: a}\n  - {for: 1s, rate: 1/s, name: a}\n",
            "x.yaml:5:32: load.1.name: phase 0 is called 'a' too"},
        {HEAD "load:\n  - {for: 1s}\n",
            "x.yaml:4:5: load.0: 'rate' is missing: intended tokens per second, such as 200/s"},
        {HEAD "load:\n  - {for: 1s, rate: max, arrivals: constant}\n",
            "x.yaml:4:26: load.0: 'arrivals' has no effect with rate: max, a closed loop"},
        {HEAD "load:\n  - {for: 1s, arrivals: trace, rate: 1/s, file: a.csv}\n",
            "x.yaml:4:32: load.0: 'rate' has no effect with arrivals: trace; the file gives the "
            "times"},
        {HEAD "load:\n  - {for: 1s, arrivals: trace}\n",
            "x.yaml:4:5: load.0: 'file' is missing: the recorded times, one per line"},
        {HEAD "load:\n  - {for: 1s, arrivals: trace, file: none.csv}\n",
            "x.yaml:4:38: load.0.file: none.csv: No such file or directory"},
        {HEAD "load:\n  - {for: 1s, rate: 1/s, rows_per_transaction: 9..2}\n",
            "x.yaml:4:48: load.0.rows_per_transaction: '9..2' should lie between 1 and 1000, the "
            "smaller number first"},
        {HEAD LOAD "faults:\n  - {at: 21s, do: kill-server}\n",
            "x.yaml:7:10: faults.0.at: '21s' lies after the end of the load, which lasts 20s"},
        {HEAD LOAD "faults:\n  - {at: 1s, every: 1s, until: 30s, do: kill-server}\n",
            "x.yaml:7:32: faults.0.until: '30s' lies after the end of the load, which lasts 20s"},
        {HEAD LOAD "faults:\n  - {at: 2s, every: 1s, until: 1s, do: kill-server}\n",
            "x.yaml:7:32: faults.0.until: '1s' lies before 'at'"},
        {HEAD LOAD "faults:\n  - {at: 2s, until: 1s, do: kill-server}\n",
            "x.yaml:7:14: faults.0: 'until' has no effect without 'every'"},
        {HEAD LOAD "faults:\n  - {at: 2s, every: 0s, do: kill-server}\n",
            "x.yaml:7:21: faults.0.every: '0s' should lie between 1ms and 86400s"},
        {HEAD LOAD "faults:\n  - {at: 2s, do: stop-server}\n",
            "x.yaml:7:5: faults.0: 'for' is missing: how long stop-server lasts"},
        {HEAD LOAD "faults:\n  - {at: 2s, do: restart-server, for: 1s}\n",
            "x.yaml:7:34: faults.0: restart-server takes no 'for'"},
        {HEAD LOAD "faults:\n  - {at: 2s, do: kill-server, target: load}\n",
            "x.yaml:7:31: faults.0: kill-server takes no 'target'"},
        {HEAD LOAD "faults:\n  - {at: 2s, every: 1s, do: kill-server, for: 2s}\n",
            "x.yaml:7:47: faults.0.for: '2s' should not be longer than 'every', so that one is "
            "over before the next"},
        {HEAD LOAD "faults:\n  - {at: 2s, every: 1s, do: kill-server, for: 900ms, jitter: 200ms}\n",
            "x.yaml:7:62: faults.0.jitter: '200ms' and 'for' together should not be longer than "
            "'every', so that each one starts before the next"},
        {HEAD LOAD "faults:\n  - {at: 2s, do: kill-server, jitter: 200ms}\n",
            "x.yaml:7:31: faults.0: 'jitter' has no effect without 'every'"},
        {HEAD LOAD "faults:\n  - {at: 2s, every: 1s, do: kill-server, jiter: 200ms}\n",
            "x.yaml:7:42: faults.0: 'jiter' is not a key that is known here; did you mean "
            "'jitter'?"},
        {HEAD LOAD "faults:\n  - {at: 2s, do: pause-collector, for: rest}\n",
            "x.yaml:7:40: faults.0.for: only kill-collector and stop-collector last for the rest; "
            "write how long pause-collector lasts, such as 2s"},
        {HEAD LOAD "faults:\n  - {at: 2s, every: 1s, do: kill-collector, for: rest}\n",
            "x.yaml:7:50: faults.0.for: 'every' does not go with rest, because the collector does "
            "not come back"},
        {HEAD LOAD "collector: {restart: false}\nfaults:\n"
                   "  - {at: 2s, do: stop-collector, for: 1s}\n",
            "x.yaml:8:39: faults.0.for: with collector.restart: false nothing starts it again; "
            "write rest, or leave 'for' out"},
        {HEAD LOAD "faults:\n  - {at: 2s, do: kill-collector, instance: 1}\n",
            "x.yaml:7:44: faults.0.instance: there is no instance 1; collector.instances is 1, and "
            "they are counted from 0"},
        {HEAD LOAD "faults:\n  - {at: 2s, do: terminate-backends}\n",
            "x.yaml:7:18: faults.0.do: 'terminate-backends' is not a fault verb; did you mean "
            "'terminate-backend'?"},
        {HEAD LOAD "faults:\n  - {at: 2s, do: earthquake}\n",
            "x.yaml:7:18: faults.0.do: 'earthquake' is not a fault verb; `mailproof list` shows "
            "them"},
    };

    CHECK_ALL(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_what_cannot_be_done),
        cmocka_unit_test(refuses_what_does_not_fit_together),
    };
    return cmocka_run_group_tests_name("harness.refused-pairs", tests, enter_folder, leave_folder);
}
