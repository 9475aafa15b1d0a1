#!/usr/bin/env bash
# explore finds a collector that writes each line twice, names what broke and stores its
# scenario. A second call goes on where the first ended. Ctrl-C leaves a page and nothing
# else.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"

explore() {
    "$mailproof" explore --out "$place/results" --jobs 2 --quiet "$@"
}

# With these faults each run is short. A busy machine may take a while to find the failure
# twice.
expect_exit 1 explore "${says[@]}" --collector "$zoo --defect sends-twice" --only reset,cancel-query \
    --within 100s --fail-fast
folder=$(echo "$place"/results/explore/seed-1-*)
grep -q '^  found .*duplicated' "$place/out" || { cat "$place/out" && fail "not found"; }
scenario=$(find "$folder/found" -name 'duplicated*.yaml' | head -n 1)
[ -n "$scenario" ] || fail "no scenario was stored"
grep -q 'duplicated' "$folder/explore.html" || fail "the page does not show it"
[ -z "$(find "$folder/runs" -xtype l)" ] || fail "a link to a removed run was left"
expect_nothing_left

# The stored scenario fails for that collector, by itself.
expect_exit 1 run "$scenario" "${says[@]}" --collector "$zoo --defect sends-twice"

# With --fail-fast, a failure that is in the journal already ends the search. Its draws
# are not drawn again.
draws=$(grep -c '"n":[0-9]*,"verdict"' "$folder/record.jsonl")
expect_exit 1 explore "${says[@]}" --collector "$zoo --defect sends-twice" --only reset,cancel-query \
    --within 100s --fail-fast
grep -q '^{"call":2,' "$folder/record.jsonl" || fail "the second call does not add up"
[ "$(grep -c '"n":[0-9]*,"verdict"' "$folder/record.jsonl")" -ge "$draws" ] || fail "draws are gone"
grep '"verdict"' "$folder/record.jsonl" | cut -d, -f1 | sort | uniq -d >"$place/twice"
[ ! -s "$place/twice" ] || fail "a draw was drawn twice"

# server_process NAME: waits until a server of this test has that process, and prints its pid.
# Another test's servers may run beside it.
server_process() {
    local left=600 servers found
    until servers=$(pgrep -d, -f "postgres -D $place/tmp") &&
        found=$(pgrep -P "$servers" -f "postgres: $1"); do
        left=$((left - 1))
        [ "$left" -gt 0 ] || return 1
        sleep 0.1
    done
    echo "$found"
}

# A case that explore once found: a server that does not stop, there because a connection said
# nothing. It is killed and started again, and the run says so. No token vanishes.
cat >"$place/stops-late.yaml" <<'YAML'
name: stops-late
summary: A restart while the server's checkpointer stands still.
collector: {batch_limit: 10, batch_timeout: 400ms}
load:
  - {for: 6s, rate: 10/s, arrivals: constant}
faults:
  - {at: 5s, do: restart-server}
drain: 20s
YAML
run "$place/stops-late.yaml" >"$place/out" 2>&1 &
pid=$!
server_process mailproof_collector >/dev/null || fail "the collector did not come"
kill -STOP "$(server_process checkpointer)"
got=0
wait "$pid" || got=$?
[ "$got" = 2 ] || { cat "$place/out" && fail "exit code $got after a server that did not stop"; }
result=$place/results/stops-late/latest/result.json
grep -q 'the server did not stop within 30 s, and was killed' "$result" || fail "$(cat "$place/out")"
[ "$(number vanished "$result")" = 0 ] || fail "tokens vanished"
expect_nothing_left

# The only worker dies, and no other can be started: that takes two open files, and only that of the
# dead worker becomes free. Draws are left, so this is an error, and not the end of the search. The next
# program removes what the worker has left.
"$mailproof" explore --out "$place/alone" --jobs 1 --quiet --draws 5 >"$place/out" 2>"$place/err" &
pid=$!
server_process mailproof_collector >/dev/null || fail "no draw was run"
socket=$(find "/proc/$pid/fd" -lname 'socket:*' -printf '%f')
prlimit --pid "$pid" --nofile=$((socket + 1))
kill -KILL "$(pgrep -P "$pid" -x mailproof)"
got=0
wait "$pid" || got=$?
[ "$got" = 70 ] || { cat "$place/out" "$place/err" && fail "exit code $got without a worker"; }
grep -q 'all workers have died: cannot make a socket' "$place/err" || fail "no reason: $(cat "$place/err")"

# Ctrl-C in the middle of a run.
"$mailproof" explore --out "$place/interrupted" --jobs 2 --quiet --within 100s >"$place/out" 2>&1 &
pid=$!
server_process mailproof_collector >/dev/null || fail "no draw was run"
kill -INT "$pid"
got=0
wait "$pid" || got=$?
[ "$got" = 130 ] || { cat "$place/out" && fail "exit code $got after SIGINT"; }
[ -s "$(echo "$place"/interrupted/explore/seed-1-*/explore.html)" ] || fail "no page after Ctrl-C"
expect_nothing_left

# Draws that cannot be run end a call, but not the next one, in which the collector is there.
late=$place/late/mailroom-collector
expect_exit 70 explore --collector "$late" --draws 16 --only shared,cursor
grep -q 'no draw can be run here' "$place/err" || fail "$(cat "$place/err")"
mkdir "$place/late"
ln -s "$BUILD_DIR/bin/mailroom-collector" "$late"
got=0
explore --collector "$late" --draws 16 --only shared,cursor >"$place/out" 2>"$place/err" || got=$?
grep -q ' [1-9][0-9]* pass,' "$place/out" || fail "exit code $got: $(cat "$place/out" "$place/err")"
expect_nothing_left

# What no draw can have is said.
expect_exit 64 explore --only shared,17 --promises no_loss
grep -q 'draw 17 cannot be run and is left out: it needs sharing' "$place/err" || fail "$(cat "$place/err")"
# A changed scenario is another search.
printf '%s\n' 'name: plain' 'summary: x' 'collector: {dequeue: shared}' 'load: [{for: 1s, rate: 10/s}]' >"$place/plain.yaml"
expect_exit 64 explore "$place/plain.yaml" --seed 9 --promises no_loss
grep -q 'no draw can be run: .*; draw 500: ' "$place/err" || fail "$(cat "$place/err")"
sed -i 's,10/s,20/s,' "$place/plain.yaml"
expect_exit 64 explore "$place/plain.yaml" --seed 9 --promises no_loss --draws 3
grep -q 'no draw can be run: .*; draw 2: ' "$place/err" || fail "$(cat "$place/err")"
[ "$(find "$place/results/explore" -name 'seed-9-*' | wc -l)" = 2 ] || fail "it is the same search"

printf '0.1\n0.2\n' >"$place/times.csv"
printf '%s\n' 'name: traced' 'summary: x' 'load: [{for: 1s, arrivals: trace, file: times.csv}]' >"$place/traced.yaml"
expect_exit 64 explore "$place/traced.yaml"
grep -q 'does not take recorded arrivals (load.0.file)' "$place/err" || fail "$(cat "$place/err")"

expect_exit 64 "$mailproof" explore --only restart-servr
grep -q "did you mean 'restart-server'" "$place/err" || fail "no hint"
