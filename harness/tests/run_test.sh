#!/usr/bin/env bash
# The main job from one command to a verdict, and what it leaves.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"

expect_exit 0 run backend-kill-storm --set load.0.for=6s --set faults.0.until=5.5s
result=$place/results/backend-kill-storm/latest/result.json
grep -q '^backend-kill-storm: pass' "$place/out" || fail "no verdict"
[ "$(number lost "$result")" = 0 ] || fail "lost"
[ "$(number duplicated "$result")" = 0 ] || fail "duplicated"
[ "$(number delivered "$result")" -gt 500 ] || fail "delivered too little"
[ "$(number reconnects "$result")" -ge 10 ] || fail "the backend was not killed"
for file in scenario.yaml env.json junit.xml summary.md latency.hlog latency.from_intended.hgrm \
    latency.from_commit.hgrm logs/server.log logs/collector-0.log; do
    [ -s "$(dirname "$result")/$file" ] || fail "no $file"
done
expect_nothing_left

# Kills that come faster than a collector does strike at their moments.
expect_exit 0 run backend-kill-storm --set load.0.for=3s --set faults.0.every=20ms \
    --set faults.0.until=2s --set drain=30s
grep -q 'left out: nobody to hit' "$place/out" || fail "every one of 76 moments found a backend"

# Several kinds of tokens: passed over, dead letters, rolled back, recovery.
expect_exit 0 run steady --set load.0.for=3s --set load.0.recovery=0.3 \
    --set load.0.rollback=0.1 --set load.0.ineligible=0.1 --set load.0.unsendable=0.1
result=$place/results/steady/latest/result.json
[ "$(number undeliverable "$result")" -gt 0 ] || fail "nothing was undeliverable"
[ "$(number rolled_back "$result")" -gt 0 ] || fail "nothing was rolled back"

# Several runs, one junit.xml for all of them.
expect_exit 1 run steady promise-limit --set load.0.for=1s --set 'expect.lost=> 5' \
    --junit "$place/junit.xml"
[ "$(grep -c '<testsuite ' "$place/junit.xml")" = 2 ] || fail "not two suites"
[ "$(grep -c '<failure ' "$place/junit.xml")" = 2 ] || fail "not two failures"
grep -q '^0 of 2 runs passed' "$place/out" || fail "no count of runs"

# What cannot be true is missed or violated, and says so with its exit code.
expect_exit 3 run steady --set load.0.for=1s --set 'expect={latency.p50: "< 1us"}'
expect_exit 1 run steady --set load.0.for=1s --set 'expect={delivered: "= 0"}'
# A plan that nothing came of proves nothing.
expect_exit 2 run steady --set load.0.for=1s --set load.0.rollback=1
# A collector that does not start is the collector's fault, and said early.
expect_exit 1 run steady --set load.0.for=1s --collector false
grep -q 'ended 3 times in a row' "$place/out" || fail "no reason"

# A durable server is insisted on; the waiver marks the result.
expect_exit 77 run steady --set load.0.for=1s --set 'postgres.settings.fsync=off'
grep -q 'fsync is off' "$place/out" || fail "no reason for skipping"
expect_exit 0 run steady --set load.0.for=1s --set 'postgres.settings.fsync=off' \
    --set postgres.durability=waive
grep -q 'waived, not durable' "$place/out" || fail "the waiver is not told"
expect_nothing_left
