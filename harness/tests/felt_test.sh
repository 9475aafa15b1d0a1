#!/usr/bin/env bash
# Every fault is felt. For each verb there is a short run, and something that shows the
# verb's effect from outside of its code: deaths, sessions, latencies, the server's log. A
# fault that does nothing and claims that it worked fails this test. With verbs as
# arguments it runs only these.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"

cat >"$place/felt.yaml" <<'YAML'
name: felt
summary: One fault, and what it does to a steady load.
collector: {batch_limit: 10, batch_timeout: 50ms}
load:
  - {for: 3s, rate: 100/s, connections: 4}
drain: 20s
recovery_limit: 15s
YAML

# felt FAULT HOW WHAT [OPTION…]: HOW is expect (WHAT is a metric and its comparison), log
# (WHAT is a pattern in the server's log) or seen (a pattern in observed.json). Invariants
# and gates do not count here, only the fault does.
felt() {
    local fault=$1 how=$2 what=$3 verb
    shift 3
    verb=$(sed 's/.*do: *\([a-z-]*\).*/\1/' <<<"$fault")
    wanted "$verb" || return 0
    local expect=(--set 'expect={}')
    [ "$how" != expect ] || expect=(--set "expect={$what}")
    "$mailproof" run --quiet --out "$place/results" "$place/felt.yaml" --set "faults=[$fault]" \
        "${expect[@]}" "$@" >"$place/out" 2>"$place/err" || [ $? != 64 ] || { cat "$place/err" >&2 && fail "$verb: refused"; }
    if grep -q '^felt: skipped' "$place/out"; then
        sed -n 's/^felt: skipped/'"$verb"': skipped/p' "$place/out"
        return 0
    fi
    local latest=$place/results/felt/latest
    case $how in
    expect) grep -Eq '^  expect .*, holds$' "$place/out" ;;
    log) grep -Eqr -- "$what" "$latest/logs" ;;
    seen) grep -Eq -- "$what" "$latest/observed.json" ;;
    esac || { cat "$place/out" "$place/err" >&2 && fail "$verb is not felt: no $what"; }
    rm -rf "$place/results"
    echo "$verb is felt: $what"
    count=$((count + 1))
}

verbs=("$@")
count=0
wanted() {
    [ ${#verbs[@]} -eq 0 ] || [[ " ${verbs[*]} " == *" $1 "* ]]
}

# Faults that show in the collector's own processes and sessions.
felt '{at: 1s, do: kill-collector}' expect 'collector.deaths: ">= 1"'
felt '{at: 1s, do: stop-collector}' expect 'collector.deaths: ">= 1"'
felt '{at: 1s, do: close-reader}' expect 'collector.deaths: ">= 1"'
felt '{at: 1s, do: terminate-backend, target: collector}' log 'terminating connection due to administrator command'
felt '{at: 1s, do: reset}' expect 'collector.reconnects: ">= 1"'
felt '{at: 1s, do: limit-data, bytes: 5000, for: 1s}' expect 'collector.reconnects: ">= 1"'
felt '{at: 1s, do: cut-at, message: client Sync}' expect 'collector.reconnects: ">= 1"'

# Faults that make tokens late. Without a fault no token takes half a second.
long='latency.max: "> 500ms"'
felt '{at: 1s, do: pause-collector, for: 1s}' expect "$long"
felt '{at: 1s, do: pause-reader, for: 1s}' expect "$long"
felt '{at: 1s, do: slow-reader, rate: 1kB/s, for: 1s}' expect "$long"
felt '{at: 1s, do: pause-server, for: 1s}' expect "$long"
felt '{at: 1s, do: partition, for: 1s}' expect "$long"
felt '{at: 1s, do: half-open, direction: to-server, for: 1s}' expect "$long"
felt '{at: 1s, do: delay, by: 500ms, for: 1s}' expect "$long"
felt '{at: 1s, do: slice, bytes: 1, gap: 2ms, for: 1s}' expect "$long"
felt '{at: 1s, do: throttle, rate: 500B/s, for: 1s}' expect "$long"
felt '{at: 1s, do: lock-jobs, for: 1s}' expect "$long" "${says[@]}" --collector "$zoo"
felt '{at: 1s, do: hold-horizon, for: 1s}' expect "$long" "${says[@]}" --collector "$zoo"

# Faults of the sender: a dead one ends its collector, and a silent one leaves tokens without an end.
outcome='latency.to_outcome.max: "> 500ms"'
felt '{at: 1s, do: kill-sender}' expect 'collector.deaths: ">= 1"' --set collector.dequeue=leased
felt '{at: 1s, do: pause-sender, for: 1s}' expect "$outcome" --set collector.dequeue=leased
felt '{at: 1s, do: hang-sender, for: 1s}' expect "$outcome" --set collector.dequeue=leased \
    --set 'collector.env={MAILROOM_ANSWER_TIMEOUT: "1000"}'

# These faults show in the server's log.
felt '{at: 1s, do: read-only-server, for: 500ms}' log 'in a read-only transaction'
felt '{at: 1s, do: step-clock, target: server, by: 24h}' log "^$(date -u -d tomorrow +%F) .*LOG" --set postgres.settings.log_min_duration_statement=0
felt '{at: 1s, do: stop-server, for: 300ms}' log 'received fast shutdown request'
felt '{at: 1s, do: restart-server}' log 'received fast shutdown request'
felt '{at: 1s, do: crash-server}' log 'received immediate shutdown request'
felt '{at: 1s, do: kill-server}' log 'was not properly shut down'
felt '{at: 1s, do: promote-standby}' log 'received promote request' --set postgres.standby=async
felt '{at: 1s, do: cut-power, for: 200ms}' log 'was not properly shut down' --set postgres.storage=crashable
felt '{at: 1s, do: kill-host, for: 200ms}' expect 'collector.deaths: ">= 1"'
felt '{at: 1s, do: slow-disk, by: 700ms, for: 1s}' expect "$long" --set postgres.storage=crashable
felt '{at: 1s, do: fail-flush, for: 500ms}' log 'Input/output error' --set postgres.storage=crashable
felt '{at: 1s, do: fill-disk, for: 1s}' log 'No space left on device' --set postgres.storage=crashable
felt '{at: 500ms, every: 10ms, until: 2500ms, do: cancel-query, target: load}' log 'canceling statement due to user request'
felt '{at: 1s, do: exhaust-connections, for: 1s}' log 'too many clients already|remaining connection slots' \
    --set 'postgres.settings={max_connections: "40"}'

# Faults that show in the samples of the server.
felt '{at: 500ms, do: fill-notify-queue, to: 0.5%, for: 2s}' seen '"notify_queue_usage": *0\.0*[1-9]|"notify_queue_usage": *[1-9]'
felt '{at: 500ms, do: long-vacuum, for: 2s}' seen 'VacuumDelay'
felt '{at: 500ms, do: old-snapshot, for: 2s}' seen '"oldest_xmin_age": *[1-9][0-9][0-9]'
felt '{at: 500ms, do: active-readers, for: 2s}' seen '"active_backends": *([4-9]|[1-9][0-9])'

# Faults of a cluster. The cluster notices the loss of its store when the leader's lock has run out.
felt '{at: 1s, do: switchover}' expect "$long" --set postgres.provider=patroni
felt '{at: 1s, do: kill-leader}' expect "$long" --set postgres.provider=patroni
felt '{at: 1s, do: partition-leader, for: 10s}' expect "$long" --set postgres.provider=patroni --set load.0.for=20s
felt '{at: 1s, do: kill-etcd, for: 20s}' expect "$long" --set postgres.provider=patroni --set load.0.for=25s
expect_nothing_left

# Every verb must have a line above, and every name above must be a verb.
[ ${#verbs[@]} -gt 0 ] || mapfile -t verbs < <("$mailproof" list | sed -n '/^Fault verbs/,/^$/s/^  \([a-z][a-z-]*\)  *[^ ].*/\1/p')
for verb in "${verbs[@]}"; do
    grep -q "^felt .*do: ${verb}[,}]" "$0" || fail "$verb has no line here"
done
[ "$count" -gt 0 ] || { echo "skipped: ${verbs[*]} cannot be felt here"; exit 77; }
