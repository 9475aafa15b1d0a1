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
expect_exit 1 explore --collector "$zoo --defect sends-twice" --only reset,cancel-query \
    --within 100s --fail-fast
folder=$(echo "$place"/results/explore/seed-1-*)
grep -q '^  found .*duplicated' "$place/out" || { cat "$place/out" && fail "not found"; }
scenario=$(find "$folder/found" -name 'duplicated*.yaml' | head -n 1)
[ -n "$scenario" ] || fail "no scenario was stored"
grep -q 'duplicated' "$folder/explore.html" || fail "the page does not show it"
expect_nothing_left

# The stored scenario fails for that collector, by itself.
expect_exit 1 run "$scenario" --collector "$zoo --defect sends-twice"

# With --fail-fast, a failure that is in the journal already ends the search. Its draws
# are not drawn again.
draws=$(grep -c '"draw":[0-9]*,"verdict"' "$folder/journal.jsonl")
expect_exit 1 explore --collector "$zoo --defect sends-twice" --only reset,cancel-query \
    --within 100s --fail-fast
grep -q '(2 calls)' "$place/out" || fail "the second call does not add up"
[ "$(grep -c '"draw":[0-9]*,"verdict"' "$folder/journal.jsonl")" -ge "$draws" ] || fail "draws are gone"
cut -d, -f1 "$folder/journal.jsonl" | grep '"draw"' | sort | uniq -d >"$place/twice"
[ ! -s "$place/twice" ] || fail "a draw was drawn twice"

# A case that explore once found: a connection that says nothing keeps the server from
# stopping. The server is then killed and started again, and the run says so. No token
# vanishes.
cat >"$place/stops-late.yaml" <<'YAML'
name: stops-late
summary: A restart while a new connection is silent.
collector: {batch_limit: 10, batch_timeout: 400ms}
load:
  - {for: 750ms, rate: 40/s, arrivals: constant, connections: 8}
faults:
  - {at: 188ms, do: half-open, for: 1500ms, direction: to-server}
  - {at: 188ms, do: pause-reader, for: 1s}
  - {at: 632ms, do: restart-server}
drain: 20s
YAML
expect_exit 2 run "$place/stops-late.yaml"
result=$place/results/stops-late/latest/result.json
grep -q 'the server did not stop within 30 s, and was killed' "$result" || fail "$(cat "$place/out")"
[ "$(number vanished "$result")" = 0 ] || fail "tokens vanished"
expect_nothing_left

# Ctrl-C in the middle of a run.
"$mailproof" explore --out "$place/interrupted" --jobs 2 --quiet --within 100s >"$place/out" 2>&1 &
pid=$!
left=600
# Looks only at this test's servers, because another test may run beside it.
until servers=$(pgrep -d, -f "postgres -D $place/tmp") &&
    pgrep -P "$servers" -f "postgres: mailproof_collector" >/dev/null; do
    left=$((left - 1))
    [ "$left" -gt 0 ] || fail "no draw was run"
    sleep 0.1
done
kill -INT "$pid"
got=0
wait "$pid" || got=$?
[ "$got" = 130 ] || { cat "$place/out" && fail "exit code $got after SIGINT"; }
[ -s "$(echo "$place"/interrupted/explore/seed-1-*/explore.html)" ] || fail "no page after Ctrl-C"
expect_nothing_left

expect_exit 64 "$mailproof" explore --only restart-servr
grep -q "did you mean 'restart-server'" "$place/err" || fail "no hint"
