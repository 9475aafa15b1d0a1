#!/usr/bin/env bash
# A collector against itself and against a slowed one, by turns and stored.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"

# Latency is the batch timeout here, so that a longer one slows the collector by
# more than any machine does; the slack keeps that from being a broken promise.
short=(steady --set load.0.for=1s --set load.0.rate=50/s --set collector.batch_limit=100
    --set slack=500ms --set 'expect={lost: "= 0"}')
slowed="env MAILROOM_BATCH_TIMEOUT=450 $BUILD_DIR/bin/mailroom-collector"
by_turns=("$mailproof" compare --ab --quiet --out "$place/results" --runs 5 --min-effect 100%
    "${leak[@]}")

expect_exit 0 "${by_turns[@]}" reference reference "${short[@]}"
grep -q 'no difference was found' "$place/out" || fail "a collector differs from itself"

expect_exit 4 "${by_turns[@]}" reference "$slowed" "${short[@]}" \
    --markdown "$place/table.md" --json "$place/trend.json" --csv "$place/table.csv"
grep -q 'regression: latency' "$place/out" || fail "no reason"
grep -q '| latency.p50 |' "$place/table.md" || fail "no Markdown"
grep -q '"name": "steady latency.p50"' "$place/trend.json" || fail "no JSON"
grep -q '^steady,latency.p50,ms,5,' "$place/table.csv" || fail "no CSV"
runs=$(sed -n 's/^  results  *//p' "$place/out")

# The same again from what is stored, and the other way round.
expect_exit 4 "$mailproof" compare "$runs/A" "$runs/B"
expect_exit 0 "$mailproof" compare "$runs/B" "$runs/A"
grep -q 'better: latency' "$place/out" || fail "the faster one is not better"
# One run a side proves nothing.
expect_exit 2 "$mailproof" compare "$runs/A/steady/latest" "$runs/B/steady/latest"
grep -q 'too few runs' "$place/out" || fail "no reason"

# Losing mail outranks being fast, even once.
expect_exit 1 "$mailproof" run --quiet --out "$place/broken" steady --set load.0.for=1s \
    --set 'expect={delivered: "= 0"}'
expect_exit 4 "$mailproof" compare "$runs/B" "$place/broken"
expect_exit 0 "$mailproof" compare "$place/broken" "$runs/B"

expect_exit 64 "$mailproof" compare "$runs/A"
expect_exit 64 "$mailproof" compare "$runs/A" "$place/tmp"
expect_exit 64 "$mailproof" compare --ab reference steady
# What changes runs changes nothing of stored ones.
for option in '--runs 5' '--seed 2' '--set seed=2' --calibrate; do
    # shellcheck disable=SC2086 # an option and its value
    expect_exit 64 "$mailproof" compare "$runs/A" "$runs/B" $option
    grep -q -- "${option%% *} goes with --ab" "$place/err" || fail "no reason for $option"
done
expect_exit 64 "$mailproof" compare --min-effect 0 "$runs/A" "$runs/B"
expect_nothing_left
