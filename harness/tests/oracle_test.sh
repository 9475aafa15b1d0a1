#!/usr/bin/env bash
# The oracle is tested too: the same two scenarios pass with good collectors and
# convict those that are broken in just the respect the scenario is for.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"

# Shorter than the originals; the faults and the shares stay.
killed=(collector-killed --set load.0.for=5s --set faults.0.until=4s)
late=(late-commits --set load.0.for=5s)

expect_lost() {
    local name=$1 lost
    lost=$(number lost "$place/results/$name/latest/result.json")
    [ "$lost" -gt 0 ] || fail "$name: exit code 1, but lost is $lost"
    echo "$name: lost $lost, as it should"
}

expect_exit 0 run "${killed[@]}"
expect_exit 0 run "${killed[@]}" --collector "$zoo"
expect_exit 1 run "${killed[@]}" --collector "$zoo --defect cursor-first"
expect_lost collector-killed

expect_exit 0 run "${late[@]}"
expect_exit 0 run "${late[@]}" --collector "$zoo"
expect_exit 1 run "${late[@]}" --collector "$zoo --defect id-only"
expect_lost late-commits

# A verdict that is not pass says how to repeat the run.
grep -q "^  repeat  *mailproof run $place/results/late-commits/" "$place/out" ||
    fail "no command that repeats the run"
folder=$(sed -n 's/^  repeat  *mailproof run \([^ ]*\).*/\1/p' "$place/out")
expect_exit 1 run "$folder" --collector "$zoo --defect id-only"
# A stored run is judged again from its history alone, and to the same end.
expect_exit 1 "$mailproof" check "$place/results/late-commits/latest"
grep -q '^late-commits: violated' "$place/out" || fail "check does not say what the run said"
expect_exit 0 "$mailproof" check --token 42 "$place/results/late-commits/latest"
grep -q '^t0000042 ' "$place/out" || fail "no life of the token"
cp -r "$(readlink -f "$place/results/late-commits/latest")" "$place/cut"
head -c 1000 "$place/results/late-commits/latest/history.bin.gz" >"$place/cut/history.bin.gz"
expect_exit 2 "$mailproof" check "$place/cut"
rm -r "$place/cut"
expect_nothing_left
