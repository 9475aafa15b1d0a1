#!/usr/bin/env bash
# A small grid, run and simulated.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"

tune=("$mailproof" tune --quiet --out "$place/results")

expect_exit 0 "${tune[@]}" steady --set load.0.for=1s --limit 1,20 --timeout 50ms,200ms \
    --markdown "$place/table.md" --json "$place/table.json" --csv "$place/table.csv"
[ "$(wc -l <"$place/table.csv")" = 5 ] || fail "not four pairs"
[ "$(grep -c '"limit":' "$place/table.json")" = 4 ] || fail "not four pairs"
grep -q '^| 20 | ' "$place/table.md" || fail "no Markdown"
grep -q '^Take limit ' "$place/out" || fail "nothing recommended"

# The published example: a batch of ten at 0.38 e-mails per second.
expect_exit 0 "${tune[@]}" steady --model --rate 0.38/s --period 720h --limit 10 --timeout 24h \
    --budget '$100/month' --price 0.10/1000
grep -q '10.00 .*take this' "$place/out" || fail "batches are not full"
grep -q 'fits the budget of 0.3858/s' "$place/out" || fail "the budget is wrong"
expect_exit 0 "${tune[@]}" steady --model --for 'latency.p99 < 150ms'
grep -q 'keep latency.p99 < 150ms' "$place/out" || fail "no objective"

expect_exit 64 "${tune[@]}" steady --model --limit 0
expect_exit 64 "${tune[@]}" steady --model --timeout 5
expect_exit 64 "${tune[@]}" steady --model --for 'latency.p99 < fast'
expect_exit 64 "${tune[@]}" steady --model --budget '$100/month'
expect_exit 64 "${tune[@]}" steady --model --budget '$100/year' --price 0.10/1000
expect_exit 64 "${tune[@]}"
expect_nothing_left
