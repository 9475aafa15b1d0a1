#!/usr/bin/env bash
# A command that a signal has stopped goes on with --resume: what was done is not done again, and the
# results are those of all. Without --resume it begins anew, and a record that is used up is gone.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"

# The collector notes each of its starts.
cat >"$place/collector" <<COLLECTOR
#!/bin/sh
echo >>"$place/starts"
exec "$BUILD_DIR/bin/mailroom-collector"
COLLECTOR
chmod +x "$place/collector"

# started: how often a collector was started since the last call.
started() {
    local n=0
    [ ! -e "$place/starts" ] || n=$(wc -l <"$place/starts")
    rm -f "$place/starts"
    echo "$n"
}

# stopped_after LINES COMMAND…: stops the command when its record has so many lines.
stopped_after() {
    local lines=$1 code=0 deadline=$((SECONDS + 120))
    shift
    "$@" >"$place/out" 2>"$place/err" &
    local pid=$!
    until [ "$(cat "$place"/results/*/record.jsonl 2>/dev/null | wc -l)" -ge "$lines" ]; do
        kill -0 "$pid" 2>/dev/null || fail "it ended too soon: $(cat "$place/err")"
        [ "$SECONDS" -lt "$deadline" ] || fail "no record of $lines lines"
        sleep 0.05
    done
    kill -TERM "$pid"
    wait "$pid" || code=$?
    [ "$code" = 143 ] || fail "exit code $code: $(cat "$place/err")"
    grep -q 'the same command with --resume goes on' "$place/err" || fail "no way on: $(cat "$place/err")"
}

runs=("$mailproof" run steady promise-limit --collector "$place/collector" --set load.0.for=500ms
    --set load.0.rate=40/s --set expect={} --set slack=30s --set drain=30s --set collector.layout=reference
    --out "$place/results" --junit "$place/junit.xml")

cuts=("$mailproof" run steady --collector "$place/collector" --set collector.layout=reference --set slack=30s --set drain=30s
    --every-cut --cut-at 'client Parse' --out "$place/results")

tuned=("$mailproof" tune steady --limit '1,10' --timeout 50ms --repeat 1 --within 1s
    --collector "$place/collector" --set collector.layout=reference --set load.0.for=500ms
    --set load.0.rate=40/s --set expect={} --set slack=30s --set drain=30s --out "$place/results")

stopped_after 3 "${runs[@]}" --repeat 2 # the first line says whose record it is
first=$(started)
expect_exit 0 "${runs[@]}" --repeat 2 --resume
again=$(started)
[ "$first" -le 3 ] && [ $((first + again)) -le 5 ] || fail "runs were repeated: $first, then $again"
grep -q '^4 of 4 runs passed' "$place/out" || fail "$(cat "$place/out")"
[ "$(grep -c '<testsuite ' "$place/junit.xml")" = 4 ] || fail "junit.xml has not all runs"
[ -z "$(find "$place/results" -name record.jsonl)" ] || fail "the record is still there"

stopped_after 2 "${runs[@]}"
grep -qE '^2 runs: about [0-9]+ s, [0-9.]+ [kM]B of results$' "$place/err" &&
    grep -qE '^each needs up to [0-9]+ MB in /.* \([0-9.]+ .B free\)$' "$place/err" ||
    fail "no forecast: $(cat "$place/err")"
started >/dev/null
expect_exit 0 "${runs[@]}"
[ "$(started)" = 2 ] || fail "it did not begin anew"

stopped_after 7 "${cuts[@]}"
first=$(started)
expect_exit 0 "${cuts[@]}" --resume
again=$(started)
grep -qE '^[0-9]+ cuts: about ' "$place/err" || fail "no forecast of cuts: $(cat "$place/err")"
trials=$(($(wc -l <"$place"/results/steady/latest/cuts.csv) - 1))
[ "$trials" -gt 10 ] || fail "only $trials trials"
# Some trials without a cut come before, each time.
[ "$again" -lt $((trials + 3)) ] || fail "trials were repeated: $first, then $again of $trials"

stopped_after 3 "${tuned[@]}"
grep -q '^4 runs: about ' "$place/err" || fail "no forecast of tune: $(cat "$place/err")"
first=$(started)
expect_exit 0 "${tuned[@]}" --resume
again=$(started)
grep -q '^[12] runs*: about ' "$place/err" || fail "tune foretells what is done: $(cat "$place/err")"
[ $((first + again)) -le 5 ] || fail "runs of tune were repeated: $first, then $again"
expect_nothing_left
