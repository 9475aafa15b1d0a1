#!/usr/bin/env bash
# A conviction leaves a command that repeats the run, a history that is judged again with the same
# verdict, and the lives of its tokens. The zoo's matrix tests which collector is convicted of what.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"

expect_exit 1 run late-commits --set load.0.for=3s "${says[@]}" --set drain=10s --collector "$zoo --defect id-only"
lost=$(number lost "$place/results/late-commits/latest/result.json")
[ "$lost" -gt 0 ] || fail "exit code 1, but lost is $lost"

# A verdict that is not pass says how to repeat the run.
grep -q "^  repeat  *mailproof run $place/results/late-commits/" "$place/out" ||
    fail "no command that repeats the run"
folder=$(sed -n 's/^  repeat  *mailproof run \([^ ]*\).*/\1/p' "$place/out")
expect_exit 1 run "$folder" "${says[@]}" --set drain=10s --collector "$zoo --defect id-only"
# A stored run is judged again from its history alone, with the same verdict.
expect_exit 1 "$mailproof" check "$place/results/late-commits/latest"
cp "$place/out" "$place/out.check"
grep -q '^late-commits: violated' "$place/out" || fail "check does not say what the run said"
# A token may be named by its number, its login, or the address that an example shows.
for token in 42 t0000042 t0000042@mailproof.invalid; do
    expect_exit 0 "$mailproof" check --token $token "$place/results/late-commits/latest"
    grep -q '^t0000042 ' "$place/out" || fail "no life of the token $token"
done
# What lies around a token that an example names is a story that gives the same finding.
token=$(sed -n 's/^ *lost: \(t[0-9]*\) .*/\1/p;s/^    \(t[0-9]*\) .*not delivered.*/\1/p' "$place/out.check" | head -n 1)
expect_exit 0 "$mailproof" story --token "$token" --output "$place/found.story" "$place/results/late-commits/latest"
grep -q '^=> lost [1-9]' "$place/found.story" || fail "the story of $token claims no loss"
expect_exit 1 "$mailproof" check "$place/found.story"
grep -q "^ *$token " "$place/out" || fail "the story's verdict does not name $token: $(cat "$place/out")"
! grep -q 'found.story:[0-9]' "$place/out" || fail "the story does not give what it claims"
cp -r "$(readlink -f "$place/results/late-commits/latest")" "$place/cut"
head -c 1000 "$place/results/late-commits/latest/history.bin.gz" >"$place/cut/history.bin.gz"
expect_exit 2 "$mailproof" check "$place/cut"
rm -r "$place/cut"
expect_nothing_left
