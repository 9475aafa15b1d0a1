#!/usr/bin/env bash
# Compares a collector with itself and with a slowed one, run alternately and stored.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"

# Latency is the batch timeout here, so a longer timeout slows the collector by more than
# any machine does. The slack keeps the longer timeout from breaking a promise. It also
# keeps runs on a busy machine from being inconclusive, because a comparison needs all
# five runs.
short=(steady --set load.0.for=1s --set load.0.rate=50/s --set collector.batch_limit=100
    --set slack=30s --set drain=30s --set 'expect={lost: "= 0"}')
slowed="env MAILROOM_BATCH_TIMEOUT=450 $BUILD_DIR/bin/mailroom-collector"
by_turns=("$mailproof" compare --ab --quiet --out "$place/results" --runs 5 --min-effect 100%
    "${leak[@]}")

expect_exit 0 "${by_turns[@]}" reference reference "${short[@]}"
grep -q 'no difference: every interval lies within 100%' "$place/out" || fail "a collector differs from itself"

expect_exit 4 "${by_turns[@]}" reference "$slowed" "${short[@]}" \
    --html "$place/page.html" --markdown "$place/table.md" --json "$place/trend.json" --csv "$place/table.csv"
grep -qE 'regression: latency\.p[0-9]+ of B is [0-9]+% higher than that of A \([0-9]+ to [0-9]+%\)' "$place/out" ||
    fail "no reason"
grep -q '| latency.p50 |' "$place/table.md" || fail "no Markdown"
grep -q '<p class="change worse">regression: latency' "$place/page.html" || fail "no page"
[ "$(grep -o '<title>[a-z]* [0-9]' "$place/page.html" | wc -l)" = 40 ] || fail "not each run of each metric has a dot"
! grep -qE 'nan|inf |https?:' "$place/page.html" || fail "the page is not self-contained, or shows no figure"
grep -q '"name": "steady latency.p50"' "$place/trend.json" || fail "no JSON"
grep -q '^steady,latency.p50,ms,5,' "$place/table.csv" || fail "no CSV"
runs=$(sed -n 's/^  results  *//p' "$place/out")

# Compares the stored runs: once in the same order, and once in the other.
expect_exit 4 "$mailproof" compare "$runs/A" "$runs/B"
expect_exit 0 "$mailproof" compare "$runs/B" "$runs/A" --min-effect 100%
grep -q 'better: latency' "$place/out" || fail "the faster one is not better"
# With one run a side nothing can be told.
expect_exit 2 "$mailproof" compare "$runs/A/steady/latest" "$runs/B/steady/latest"
grep -q 'cannot tell: too few runs' "$place/out" || fail "no reason"

# A collector that fails more often is worse however fast it is. One failure among few runs proves
# nothing.
expect_exit 1 "$mailproof" run --quiet --out "$place/broken" "${short[@]}" "${leak[@]}" --repeat 5 \
    "${says[@]}" --collector "$zoo --defect sends-twice"
expect_exit 4 "$mailproof" compare "$runs/B" "$place/broken"
grep -q 'duplicated in 0 of 5 runs of base, in 5 of 5 of new' "$place/out" || fail "no counts"
expect_exit 0 "$mailproof" compare "$place/broken" "$runs/B" --min-effect 100%
expect_exit 2 "$mailproof" compare "$runs/B" "$place/broken/steady/latest"

# Other scenarios, rules and kinds of runs are refused; other seeds are mentioned.
expect_exit 0 "$mailproof" run --quiet --out "$place/other" "${short[@]}" "${leak[@]}" \
    --set load.0.rate=40/s --set seed=7
expect_exit 64 "$mailproof" compare "$runs/A" "$place/other"
grep -q 'not the same scenario: load.0.rate: 50/s in base, 40/s in new$' "$place/err" || fail "no keys"
expect_exit 0 "$mailproof" run --quiet --out "$place/seed" "${short[@]}" "${leak[@]}" --seed 7
expect_exit 2 "$mailproof" compare "$runs/A" "$place/seed"
grep -q 'different seeds: 1 in base, 7 in new' "$place/out" || fail "the seeds are not said"
sed -i 's/"rules": [0-9]*/"rules": 1/' "$(readlink -f "$place/seed/steady/latest")/result.json"
expect_exit 64 "$mailproof" compare "$runs/A" "$place/seed"
grep -q 'was judged by rules' "$place/err" || fail "other rules are not refused"

expect_exit 64 "$mailproof" compare "$runs/A"
expect_exit 64 "$mailproof" compare "$runs/A" "$place/tmp"
expect_exit 64 "$mailproof" compare --ab reference steady
# Options that change runs are refused for stored ones.
for option in '--runs 5' '--seeds 2' '--seed 2' '--set seed=2' --calibrate '--scale 0.5' '--promises no_loss'; do
    # shellcheck disable=SC2086 # an option and its value
    expect_exit 64 "$mailproof" compare "$runs/A" "$runs/B" $option
    grep -q -- "${option%% *} goes with --ab" "$place/err" || fail "no reason for $option"
done
expect_exit 64 "$mailproof" compare --min-effect 0 "$runs/A" "$runs/B"
expect_nothing_left
