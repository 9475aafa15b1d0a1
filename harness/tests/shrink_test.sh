#!/usr/bin/env bash
# A run that failed with a broken collector is shrunk to a smaller scenario, with which
# this collector fails as well.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"

# This collector ends when its connection is lost, so one lost connection is enough to
# show the failure.
bad="$zoo --defect exits"
result=$place/results/backend-kill-storm/latest
shrink=("$mailproof" shrink --out "$place/results" --collector "$bad")

expect_exit 1 run backend-kill-storm "${says[@]}" --collector "$bad" --set drain=1s --set load.0.for=2s \
    --set 'faults=[{at: 200ms, every: 300ms, until: 1900ms, do: terminate-backend, target: collector}]'

# The search takes more time only on a slow machine.
"${shrink[@]}" "$result" --within 20s >"$place/out" 2>"$place/err" ||
    "${shrink[@]}" "$result" --within 60s >"$place/out" 2>"$place/err" ||
    { cat "$place/out" "$place/err" >&2; fail "nothing smaller was found"; }
# value ROW: prints the figure in the column "after", without its unit.
value() {
    sed -n "s/^  $1  *[0-9.]*\( s\)\{0,1\}  *\([0-9]*\).*/\2/p" "$place/out"
}
[ "$(value load)" -lt 2 ] || fail "the load is no shorter"
[ "$(value faults)" = 1 ] || fail "not one fault is left"
[ "$(value unplanned_exit)" -gt 0 ] || fail "it does not exit"
grep -q '^the small scenario fails in [1-3] of [1-3] run' "$place/out" || fail "not confirmed"
# A failure that not every run shows is repeated until it is seen.
again=
grep -q '^the small scenario fails in \([1-3]\) of \1 run' "$place/out" || again=' --repeat 5'
grep -qx "  repeat      mailproof run $result/shrunk.yaml --collector '$bad'$again" "$place/out" || fail "no command"

# The result is a scenario like any other: the broken collector fails it, and the good one
# passes.
expect_exit 1 run "$result/shrunk.yaml" --collector "$bad"
expect_exit 0 run "$result/shrunk.yaml"

# Ctrl-C leaves the best so far.
rm "$result/shrunk.yaml"
"${shrink[@]}" "$result" --output "$place/small.yaml" >"$place/out" 2>"$place/err" &
pid=$!
for _ in $(seq 600); do
    ! grep -q '(kept)' "$place/out" || break
    sleep 0.1
done
kill -INT "$pid"
code=0
wait "$pid" || code=$?
[ "$code" = 130 ] || fail "exit code $code after Ctrl-C"
grep -q 'no time to see how often it does' "$place/out" || fail "no result after Ctrl-C"
"$mailproof" plan "$place/small.yaml" >/dev/null || fail "no scenario after Ctrl-C"

expect_exit 64 "${shrink[@]}"
expect_exit 64 "${shrink[@]}" "$place"
expect_exit 64 "${shrink[@]}" "$place/results/shrunk/latest"
grep -q 'broke no invariant (pass)' "$place/err" || fail "a good run is not refused"
expect_exit 64 "${shrink[@]}" "$result" --within soon
expect_exit 64 "${shrink[@]}" "$result" --breaks lst
grep -q "'lst' is not an invariant" "$place/err" || fail "no reason"
expect_exit 64 "${shrink[@]}" "$result" --breaks forged
grep -q 'did not break forged, but' "$place/err" || fail "no reason"
expect_exit 64 "${shrink[@]}" "$result" --output "$place/Small.yaml"
expect_nothing_left
