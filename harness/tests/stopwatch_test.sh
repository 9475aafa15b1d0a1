#!/usr/bin/env bash
# The stopwatch: a server that stands still for 2 s in the middle of a constant rate must show in
# the percentiles as calculated. A clock that starts when an insert is sent would not have shown it.
#
# The server stands still for P of the T seconds of load. An insert that was meant for x seconds
# before the server goes on waits at least x seconds, so the longest waits are evenly spread from P
# downwards: the share of waits above y is (P - y) / T, and the q-th percentile is P - (1 - q) T at
# least. Waits may be longer because the inserts of the backlog go out together.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"

cat >"$place/stopwatch.yaml" <<'YAML'
name: stopwatch
summary: The server stands still in the middle of a steady load.
collector: {batch_limit: 10, batch_timeout: 100ms}
load:
  - {for: 6s, rate: 200/s, arrivals: constant, connections: 4}
faults:
  - {at: 2s, do: pause-server, for: 2s}
YAML
expect_exit 0 run "$place/stopwatch.yaml" --set drain=30s
result=$place/results/stopwatch/latest/result.json

# The numbers that the test needs, as key=value. The file's layout is our own.
read_numbers() {
    awk '
        /^  "[a-z_]*": [{[]/ {section = $1}
        /^    "[a-z_]*": {/ {part = $1}
        {gsub(/[",:]/, "")}
        $1 ~ /^(p50|p90|p99|max)$/ {
            s = section part; gsub(/[":]/, "", s); print s "." $1 "=" $2}
        $1 ~ /^(at_s|ended_s)$/ {print $1 "=" $2}' "$1"
}
read_numbers "$result" >"$place/numbers"
number_of() {
    sed -n "s/^$1=//p" "$place/numbers" | head -n 1
}

awk -v at="$(number_of at_s)" -v ended="$(number_of ended_s)" \
    -v p50="$(number_of latency_msfrom_intended.p50)" \
    -v p90="$(number_of latency_msfrom_intended.p90)" \
    -v p99="$(number_of latency_msfrom_intended.p99)" \
    -v max="$(number_of latency_msfrom_intended.max)" \
    -v naive="$(number_of stages_msinsert_commit.p99)" 'BEGIN {
        T = 6; pause = ended - at; gap = 2 / 200; backlog = 4
        printf "paused %.3f s; from intended p50 %.0f, p90 %.0f, p99 %.0f, max %.0f ms; ",
            pause, p50, p90, p99, max
        printf "from sent p99 %.0f ms\n", naive
        if (pause < 1.9) bad = "the pause was too short"
        # Stopping every process takes a moment, in which some still answer.
        slow = 0.2
        for (q = 0.90; q < 1; q += 0.09) {
            least = pause - slow - (1 - q) * T - gap
            got = (q < 0.95 ? p90 : p99) / 1000
            if (got < least) bad = "p" q * 100 " hides the pause"
            if (got > pause + backlog) bad = "p" q * 100 " is longer than the pause explains"
        }
        if (max / 1000 < pause - slow - gap || max / 1000 > pause + backlog) bad = "max"
        # Four inserts were in flight, a third of a percent: to the naive clock
        # the pause is not there.
        if (naive / 1000 > pause / 2) bad = "the naive clock should have been fooled"
        if (bad) {print "FAILED: " bad > "/dev/stderr"; exit 1}
    }'
expect_nothing_left
