#!/usr/bin/env bash
# A soak: the segments share a server and a collector, each has a result of its own, nothing of an
# earlier one comes again unnoticed, and an interrupted soak goes on. With `all` it does what takes
# longer instead.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"

cat >"$place/short.yaml" <<'YAML'
name: short
summary: A few tokens in each segment.
collector:
  batch_timeout: 50ms
  layout: reference
  promises: [no_loss, once, limit, order, reconnect, stop, dead_letters, sharing, outcome, lease]
load: [{for: 1s, rate: 60/s, recovery: 0.2, ineligible: 0.05, unsendable: 0.05, rollback: 0.05}]
YAML

# collector SCRIPT: makes a collector that notes each of its starts, and is this script.
collector() {
    : >"$place/starts"
    printf '#!/bin/bash\necho $$ >>"%s/starts"\n%s\n' "$place" "$1" >"$place/collector"
    chmod 755 "$place/collector"
}
good="exec \"$BUILD_DIR/bin/mailroom-collector\""
starts() { wc -l <"$place/starts"; }

soak() {
    rm -rf "$place/results"
    soak_on "$@"
}
options=(--quiet --out "$place/results" --set 'expect={}' --set recovery_limit=30s --set slack=30s "${leak[@]}")
soak_on() {
    "$mailproof" run "$place/short.yaml" --collector "$place/collector" "${options[@]}" "$@"
}
# segments: the folders of the results, in their order.
segments() { find "$place/results/short" -mindepth 1 -maxdepth 1 -type d | sort; }

# begin_soak SEGMENTS SIGNAL OPTION…: begins one in the background, and ends it after so many.
begin_soak() {
    rm -rf "$place/results"
    # Not by a function: a shell between would get the signal.
    "$mailproof" run "$place/short.yaml" --collector "$place/collector" "${options[@]}" "${@:3}" \
        >"$place/out" 2>&1 &
    local pid=$!
    for ((i = 0; i < 600; i++)); do
        ! grep -q "\"n\":$(($1 - 1))," "$place"/results/run-*/record.jsonl 2>"$place/err" || break
        sleep 0.1
    done
    kill -s "$2" "$pid"
    wait "$pid" || true
}

# most_memory FOLDER: the harness's memory in KiB while that segment went on.
most_memory() {
    grep -oE '"harness_rss_kb": *[0-9]+' "$1/observed.json" | grep -oE '[0-9]+$' | sort -n | tail -n 1
}

# One process serves all segments, and each is judged again from its folder.
modes=(cursor) signals=(KILL)
[ "${1-}" != all ] || modes=(shared leased) signals=(INT)
for mode in "${modes[@]}"; do
    collector "$good"
    expect_exit 0 soak --soak 3s --set "collector.env.MAILROOM_DEQUEUE=$mode"
    [ "$(starts)" = 1 ] || fail "$mode: $(starts) processes served one soak"
    [ "$(segments | wc -l)" = 3 ] || fail "$mode: $(segments | wc -l) segments instead of 3"
    expect_exit 0 "$mailproof" check "$place/results"
    grep -q '3 of 3 results pass; they have' "$place/out" || fail "$mode: $(cat "$place/out")"
    for folder in $(segments); do
        [ "$(number committed "$folder/result.json")" -gt 30 ] || fail "$folder has few tokens"
        [ "$(number deaths "$folder/result.json")" = 0 ] || fail "$folder: the collector died"
        [ -e "$folder/logs/server.log" ] || fail "$folder has no server.log"
    done
    grep -q '3 of 3 runs passed' "$place/results/summary.md" || fail "$(cat "$place/results/summary.md")"
    grep -q '^| 1 | 3 of 3 | 0 | 0 | ' "$place/results/summary.md" ||
        fail "no row of the first hour: $(cat "$place/results/summary.md")"
    expect_exit 64 "$mailproof" slopes "$place/results"
    grep -q 'too short for a slope: 3 segments' "$place/err" || fail "$(cat "$place/err")"
done

# A fault in each segment, with several collectors.
if [ "${1-}" = all ]; then
    collector "$good"
    expect_exit 0 soak --soak 9s --set load.0.for=4s --set recovery_limit=2s --set slack=1s \
        --set collector.instances=2 --set collector.env.MAILROOM_DEQUEUE=shared \
        --set 'faults=[{at: 1s, do: kill-collector, instance: 0}]'
    [ "$(starts)" = 5 ] || fail "$(starts) processes instead of 2 and one after each of 3 kills"
fi

# A token of an earlier segment is known, however late it comes again.
collector "\"$BUILD_DIR/bin/mailroom-collector\" | while IFS= read -r line; do
    printf '%s\n' \"\$line\"
    : \"\${first:=\$line}\"
    [[ -z \$again && \$line =~ t[0-9]+\.2[,@~] ]] && printf '%s\n' \"\$first\" && again=1
done"
expect_exit 1 soak --soak 3s
grep -q '"duplicated": [1-9]' "$(segments | tail -n 1)/result.json" || fail "no duplicate was found"
grep -q 'in a line with t[0-9]* of segment 0: ' "$(segments | tail -n 1)/result.json" ||
    fail "the duplicate is not named"
expect_exit 1 "$mailproof" check "$place/results"
grep -q '2 of 3 results pass, 1 violated; they have' "$place/out" || fail "$(cat "$place/out")"

# A segment with a lost token is the last one of its collector: what is open could come later.
collector "\"$BUILD_DIR/bin/mailroom-collector\" | while IFS= read -r line; do
    [ \$((++n)) = 5 ] || printf '%s\n' \"\$line\"
done"
expect_exit 1 soak --soak 2s --set drain=1s
[ "$(starts)" = 2 ] || fail "$(starts) processes: a token is lost, and its collector goes on"

# What was interrupted or killed is made again, and what was done is not.
for signal in "${signals[@]}"; do
    collector "$good"
    begin_soak 2 "$signal" --soak 4s
    done=$(grep -c '"n":' "$place"/results/run-*/record.jsonl)
    [ "$done" = 2 ] || fail "$signal: $done segments were done"
    expect_exit 0 soak_on --resume --soak 4s
    grep -q '4 of 4 runs passed' "$place/out" || fail "$signal: $(cat "$place/out")"
    seeds=$(cd "$place/results/short" && find . -name result.json | cut -d/ -f2 | cut -d- -f2 | cut -d. -f1 |
        sort -u | paste -sd ' ')
    [ "$seeds" = "1 2 3 4" ] || fail "$signal: the seeds of the segments are $seeds"
    [ "$(starts)" = 2 ] || fail "$signal: $(starts) processes"
    rm -rf "$place/tmp"/*
done

# What 5,000 segments leave in memory is less than the noise. An earlier call is said to have made them.
if [ "${1-}" != all ]; then
    collector "$good"
    begin_soak 1 INT --soak 5003s
    record=$(echo "$place"/results/run-*/record.jsonl)
    awk 'NR == 1; /^{"n":0,/ {for (n = 0; n < 5000; n++) {sub(/^{"n":[0-9]+/, "{\"n\":" n); print}}' "$record" >"$place/many"
    cp "$place/many" "$record"
    expect_exit 0 soak_on --resume --soak 5003s
    grep -q '5003 of 5003 runs passed' "$place/out" || fail "$(cat "$place/out")"
    few=$(most_memory "$(segments | head -n 1)") many=$(most_memory "$(segments | tail -n 1)")
    # With a sanitizer, what was freed is kept.
    [ -n "${SANITIZE-}" ] || [ "$many" -lt $((few + 8192)) ] ||
        fail "$many KiB with 5,000 segments, $few KiB with one"
fi

# refused WORDS OPTION…
refused() {
    expect_exit 64 soak "${@:2}"
    grep -q -- "$1" "$place/err" || fail "no '$1' in: $(cat "$place/err")"
}
refused 'takes a time' --soak never
refused 'may have up to 250000' --soak 9s --set load.0.for=2s --set load.0.rate=200000/s
refused 'a backlog' --soak 9s --set load.0.backlog=5
refused 'recovery_limit' --soak 9s --set 'faults=[{at: 500ms, do: kill-collector}]'
refused '--repeat' --soak 9s --repeat 2
refused '--keep' --soak 9s --keep
expect_nothing_left
