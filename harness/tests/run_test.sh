#!/usr/bin/env bash
# The main job: one command gives a verdict and leaves a result folder.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"

expect_exit 0 run backend-kill-storm --set load.0.for=6s \
    --set 'faults=[{at: 500ms, every: 300ms, until: 5500ms, do: terminate-backend, target: collector}]'
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
# What had nothing to judge does not pass for a promise that was kept.
summary=$(dirname "$result")/summary.md
hold=$(grep -c '^| .* | holds |' "$summary") idle=$(grep -c '^| .* | not judged |' "$summary")
grep -q "<summary>$hold of $hold invariants hold; $idle not judged</summary>" "$summary" ||
    fail "$hold hold and $idle were not judged: $(grep 'invariants hold' "$summary")"
expect_nothing_left

# Kills come faster than the collector returns. Those that find no backend are left out.
expect_exit 0 run backend-kill-storm --set load.0.for=3s --set drain=30s \
    --set 'faults=[{at: 500ms, every: 20ms, until: 2s, do: terminate-backend, target: collector}]'
grep -q 'left out: no target' "$place/out" || fail "every one of 76 moments found a backend"

# Faults may overlap. Sessions that send a query to a paused server wait for it. A
# prepared transaction is rolled back although its session has died.
expect_exit 0 run long-vacuum --set load.0.for=3s --set 'faults=[
    {at: 500ms, do: long-vacuum, for: 1s}, {at: 1200ms, do: pause-server, for: 500ms},
    {at: 2s, do: hold-horizon, prepared: true, for: 800ms}, {at: 2400ms, do: restart-server}]'
expect_nothing_left

# A fault that failed keeps the reason of the failure, whatever is found when it is
# undone. A server that is away does not count as one that refuses connections.
expect_exit 2 run steady --set load.0.for=2s --set postgres.settings.max_prepared_transactions=0 \
    --set 'faults=[{at: 100ms, do: hold-horizon, prepared: true, for: 100ms},
    {at: 300ms, do: exhaust-connections, for: 100ms}, {at: 320ms, do: stop-server, for: 500ms}]'
result=$place/results/steady/latest/result.json
grep -q 'prepared transactions are disabled' "$result" || fail "no reason for hold-horizon"
grep -q 'the server never refused a connection' "$result" || fail "a server that was away counted as full"

# Several kinds of tokens: passed over, dead letters, rolled back, recovery. The
# collector is run by a script, and ends with it.
cp "$BUILD_DIR/bin/mailroom-collector" "$place/collector"
printf '#!/bin/sh\n%s/collector\nexit $?\n' "$place" >"$place/script"
chmod +x "$place/script"
expect_exit 0 run steady --collector "$place/script" --set collector.layout=reference --set load.0.for=1s \
    --set load.0.recovery=0.3 --set load.0.rollback=0.1 --set load.0.ineligible=0.1 --set load.0.unsendable=0.1
result=$place/results/steady/latest/result.json
[ "$(number undeliverable "$result")" -gt 0 ] || fail "nothing was undeliverable"
[ "$(number rolled_back "$result")" -gt 0 ] || fail "nothing was rolled back"
# The drain waits for dead letters too, which come a batch timeout later.
expect_exit 0 run steady --set load.0.for=1s --set load.0.rate=4/s --set load.0.arrivals=constant \
    --set load.0.recovery=0 --set load.0.unsendable=1 --set collector.batch_timeout=2s \
    --set 'expect={lost: "= 0"}'
expect_nothing_left

# Several runs share one junit.xml, and give the exit code of the worst run.
mkdir "$place/mine"
# scenario NAME TAG KEY…: writes a short scenario.
# A slow machine makes no run of them inconclusive.
scenario() {
    printf 'name: %s\nsummary: One of our own.\ntags: [%s]\ncollector: {batch_timeout: 100ms}\n' "$1" "$2"
    printf 'slack: 30s\ndrain: 30s\nload: [{for: 500ms, rate: 100/s}]\n'
    printf '%s\n' "${@:3}"
} >"$place/mine/$1.yaml"
scenario a-elsewhere mine 'postgres: {provider: url}'
scenario b-missed mine 'expect: {collector.rss_max_kb: "< 1"}'
scenario c-violated mine 'expect: {delivered: "= 0"}'
scenario d-failed other 'postgres: {settings: {shared_preload_libraries: no_such_library}}'
mine=("$mailproof" run --quiet --out "$place/results" --junit "$place/junit.xml" "${leak[@]}")
# suites COUNT ATTRIBUTE: checks how many <testsuite>s have the attribute.
suites() {
    [ "$(grep -cE "<testsuite .*$2" "$place/junit.xml")" = "$1" ] || fail "not $1 suites with $2: $(cat "$place/junit.xml")"
}
expect_exit 1 "${mine[@]}" "$place/mine" --tag mine
grep -q '^0 of 3 runs passed, 1 violated, 1 missed, 1 skipped' "$place/out" || fail "no count of runs"
grep -q '^c-violated .*violated .*delivered = 0$' "$place/out" || fail "the table does not say what broke"
summary=$place/results/summary.md
grep -q '^# mailproof: 0 of 3 runs passed' "$summary" || fail "no heading in summary.md"
grep -A 1 '^| \[c-violated\](c-violated/.*/report.html) | violated | delivered = 0 |$' "$summary" |
    grep -q '^| \[b-missed\].*| missed |' || fail "summary.md does not begin with the worst: $(cat "$summary")"
grep -A 2 '<summary>1 skipped' "$summary" | grep -q '^- a-elsewhere: ' || fail "summary.md does not tell what was skipped"
suites 3 .
suites 1 'skipped="1"'
suites 2 'failures="1"'
grep -q '<testcase classname="c-violated.expectation" name="delivered = 0">' "$place/junit.xml" || fail "no case"
# A run without a verdict is not green.
expect_exit 70 "${mine[@]}" "$place/mine/c-violated.yaml" "$place/mine/d-failed.yaml"
suites 2 .
suites 1 'name="d-failed" .*errors="1"'
expect_exit 70 "${mine[@]}" "$place/mine/d-failed.yaml" "$place/mine/c-violated.yaml" --repeat 2 --fail-fast
grep -q '^0 of 1 runs passed.*, 0 skipped, 1 scenario not run' "$place/out" || fail "no count of what was not run"
suites 2 .
suites 1 'name="c-violated" .*skipped="1"'
expect_exit 77 "${mine[@]}" "$place/mine/a-elsewhere.yaml" --repeat 2
suites 2 'skipped="1"'
expect_exit 64 "${mine[@]}" "$place/mine" --tag none

# An expectation that cannot hold is missed, and the exit code says so.
expect_exit 3 run steady --set load.0.for=300ms --set 'expect={collector.rss_max_kb: "< 1"}'
# A run that commits nothing proves nothing.
expect_exit 2 run steady --set load.0.for=300ms --set load.0.rollback=1
# A collector that does not start breaks its promises, and the run ends early.
expect_exit 1 run steady --set load.0.for=300ms --collector false
grep -q 'ended 3 times in a row' "$place/out" || fail "no reason"

# The server must be durable. If the scenario waives the proof, the result says so.
expect_exit 77 run steady --set load.0.for=300ms --set 'postgres.settings.fsync=off'
grep -q 'fsync is off' "$place/out" || fail "no reason for skipping"
expect_exit 0 run steady --set load.0.for=300ms --set 'postgres.settings.fsync=off' \
    --set postgres.durability=waive
grep -q 'waived, not durable' "$place/out" || fail "the waiver is not told"
expect_nothing_left
