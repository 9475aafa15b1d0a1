#!/usr/bin/env bash
# A small grid, run and simulated.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"

tune=("$mailproof" tune --quiet --out "$place/results")

# Recorded arrivals, ten a second. Then as many in bursts of one second.
seq -f '%.1f' 0.1 0.1 9.9 >"$place/times.csv"
expect_exit 0 "${tune[@]}" steady --model --arrivals trace --trace "$place/times.csv" \
    --period 1h --limit 100 --timeout 950ms --query-time 0ms
grep -q ' 10.00 .*take this' "$place/out" || fail "a second holds ten"
expect_exit 0 "${tune[@]}" steady --model --rate 10/s --arrivals on-off:1s/9s --period 10h \
    --limit 1000 --timeout 2s
grep -qE ' (9[6-9]|10[0-4])\.[0-9]+ .*take this' "$place/out" || fail "a burst holds a hundred"

# The published example: a batch of ten at 0.38 e-mails per second.
expect_exit 0 "${tune[@]}" steady --model --rate 0.38/s --period 720h --limit 10 --timeout 24h \
    --budget '$100/month' --price 0.10/1000
grep -q '10.00 .*take this' "$place/out" || fail "batches are not full"
grep -q 'fits the budget of 0.3858/s' "$place/out" || fail "the budget is wrong"
folder=$(sed -n 's#^  results  *\(.*\)/tune.html$#\1#p' "$place/out")
for file in tune.md tune.json tune.html; do
    grep -q 'fits the budget of 0.3858/s' "$folder/$file" || fail "no budget in $file"
done
expect_exit 0 "${tune[@]}" steady --model --for 'latency.p99 < 150ms'
grep -q 'It keeps latency.p99 < 150ms (.*) and sends the fewest lines' "$place/out" || fail "no objective"
# The objective leaves room for a longer timeout than the grid has. It is named, and it does.
longer=$(sed -n 's/.*a timeout of .* keeps it, too; --timeout \([0-9]*ms\) tries that.*/\1/p' "$place/out")
[ -n "$longer" ] && [ "$longer" != 100ms ] || fail "no longer timeout: $(cat "$place/out")"
expect_exit 0 "${tune[@]}" steady --model --for 'latency.p99 < 150ms' --timeout "$longer"
grep -q 'It keeps latency.p99 < 150ms' "$place/out" || fail "a timeout of $longer does not keep it"

# A load above the budget is missed, and said first: no pair can change it.
expect_exit 3 "${tune[@]}" steady --model --rate 50/s --period 10m --limit 10 --timeout 100ms \
    --budget 40/s
grep -A 1 '^$' "$place/out" | grep -q '^The load of 50/s exceeds the budget of 40/s: .* 36,[0-9]* mails' ||
    fail "the budget is not the first sentence: $(cat "$place/out")"

# An objective that no pair keeps is missed.
expect_exit 3 "${tune[@]}" steady --model --for 'latency.p99 < 1us'
grep -q '^No pair keeps latency.p99 < 1us' "$place/out" || fail "an impossible objective is kept"

expect_exit 64 "${tune[@]}" steady --model --limit 0
expect_exit 64 "${tune[@]}" steady --model --timeout 5
expect_exit 64 "${tune[@]}" steady --model --for 'latency.p99 < fast'
expect_exit 64 "${tune[@]}" steady --model --arrivals sometimes
expect_exit 64 "${tune[@]}" steady --model --arrivals trace
expect_exit 64 "${tune[@]}" steady --model --arrivals trace --trace "$place/none.csv"
expect_exit 64 "${tune[@]}" steady --model --arrivals poisson --trace "$place/times.csv"
expect_exit 64 "${tune[@]}" steady --model --trace "$place/times.csv" --rate 5/s
expect_exit 64 "${tune[@]}" steady --model --arrivals on-off:1s
expect_exit 64 "${tune[@]}" steady --model --query-time "$place/times.csv"
expect_exit 64 "${tune[@]}" steady --within soon
expect_exit 64 "${tune[@]}" steady --precision 0
expect_exit 64 "${tune[@]}" steady --limit 1,1
expect_exit 64 "${tune[@]}" steady --model --budget '$100/month'
expect_exit 64 "${tune[@]}" steady --model --budget '$100/year' --price 0.10/1000
expect_exit 64 "${tune[@]}"
# refused TEXT OPTION…: checks that the command is refused with this text.
refused() {
    expect_exit 64 "${tune[@]}" steady "${@:2}"
    grep -qF -- "$1" "$place/err" || fail "'$1' is not in: $(cat "$place/err")"
}
refused 'at most 99 times, not 100' --repeat 100
refused '--rate goes with --model; change the load of runs with --set load.0.rate=' --rate 10/s
refused '--arrivals goes with --model' --arrivals constant
refused '--period goes with --model' --period 1h
refused '--query-time goes with --model' --query-time 2ms
refused '--for: the model computes latency.p50 to latency.mean, not recovery.max' --model \
    --for 'recovery.max < 1s'
refused 'load.0 is a closed loop' --set load.0.rate=max
# others_busy RESULT.JSON: how much of the machine other programs used, in percent.
others_busy() {
    local others=0 part
    for part in machine_busy harness collector collector_backends load_backends server; do
        case $part in
        machine_busy) others=$(section_number cpu_s machine_busy "$1") ;;
        *) others=$(awk -v a="$others" -v b="$(section_number cpu_s $part "$1")" 'BEGIN { print a - b }') ;;
        esac
    done
    awk -v a="$others" -v b="$(section_number cpu_s machine_total "$1")" 'BEGIN { printf "%d", 100 * a / b }'
}

# section_number OBJECT KEY FILE: prints a number inside an object of a JSON file.
section_number() {
    sed -n "/^  \"$1\": {/,/^  }/p" "$3" | number "$2" /dev/stdin
}

# An error counts against the model only if it is more than 15% and more than 5 ms. Busy
# neighbours move the median of a run of one second by that much.
model_is_off() {
    awk '/"(p50_ms|model_p50_off|model_tokens_off)": / {
            gsub(/[":,]/, "")
            value[$1] = $2 == "null" ? "" : $2 < 0 ? -$2 : $2
        }
        $1 == "model_tokens_off" {
            if (value["model_p50_off"] == "") exit missing = 1
            if (value["model_tokens_off"] > 0.15 ||
                (value["model_p50_off"] > 0.15 && value["model_p50_off"] * value["p50_ms"] > 5)) {
                print "p50 " value["p50_ms"] " ms, off by " value["model_p50_off"] \
                    ", tokens per batch off by " value["model_tokens_off"]
                bad = 1
            }
            pairs++
        }
        END { exit !(bad || missing || pairs != 4) }' "$1"
}

# The model agrees with the measured grid. If others use more than a third of the machine,
# this is not judged.
got=0
"${tune[@]}" steady --set load.0.for=1s --limit 1,20 --timeout 50ms,200ms --repeat 2 --within 1s "${leak[@]}" \
    --markdown "$place/table.md" --json "$place/table.json" --csv "$place/table.csv" \
    >"$place/out" 2>"$place/err" || got=$?
[ $got = 0 ] || [ $got = 2 ] || fail "exit code $got: $(cat "$place/out" "$place/err")"
page=$(sed -n 's/^  results  *//p' "$place/out")
busy=$(for result in "${page%/*}"/steady/2*/result.json; do
    others_busy "$result"
    echo
done | sort -n | tail -n 1)
if grep -q inconclusive "$place/table.md"; then
    [ "$busy" -gt 33 ] || fail "on a quiet machine: $(cat "$place/table.md")"
    echo "skipped: others used $busy% of this machine, and the grid was inconclusive"
    exit 77
fi
if model_is_off "$place/table.json" >"$place/off"; then
    [ "$busy" -gt 33 ] || fail "on a quiet machine: $(cat "$place/table.md" "$place/off")"
fi
[ "$(wc -l <"$place/table.csv")" = 5 ] || fail "not four pairs"
[ "$(grep -c '"limit":' "$place/table.json")" = 4 ] || fail "not four pairs"
grep -q '^| 20 | ' "$place/table.md" || fail "no Markdown"
grep -q '^Take limit ' "$place/out" || fail "nothing recommended"
grep -q '^Check of the simulation: it predicts' "$place/out" || fail "the model is not compared"
# Without a terminal there are no colours.
! grep -q "$(printf '\033')" "$place/out" || fail "colours in a file"
for file in tune.html tune.json tune.csv tune.md queries.csv; do
    [ -s "${page%/*}/$file" ] || fail "no $file"
done
cmp "$place/table.csv" "${page%/*}/tune.csv" || fail "two tables"
# The page shows each figure of each pair, as the table does, and fetches nothing.
grep -q '<circle class="pick"' "$page" || fail "no recommended pair in the picture"
[ "$(grep -c 'class="map"' "$page")" -ge 6 ] || fail "not six heat maps"
! grep -qE '<(script|link|img)[^>]+(src|href)=' "$page" || fail "not self-contained"
sed -n '/data-figure="tokens_per_batch"/,/<\/table>/p' "$page" | grep -q '>1.00<' ||
    fail "the page does not show batches of one"
# With batches of one, each token costs at least one round trip. With larger batches a
# token costs less.
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
    { trips[$1] = $at["round_trips_per_token"] }
    END { exit !(trips[1] >= 1 && trips[20] > 0 && trips[20] < trips[1] / 2) }' "$place/table.csv" ||
    fail "round trips: $(cat "$place/table.csv")"

# Measured query times make the model work for another load, ten times as high.
expect_exit 0 "${tune[@]}" steady --model --rate 2000/s --query-time "${page%/*}/queries.csv"
expect_nothing_left

# With --repeat all pairs are run, also once.
got=0
"${tune[@]}" steady --set load.0.for=500ms --limit 1,20 --timeout 50ms,200ms --repeat 1 --within 1s "${leak[@]}" \
    >"$place/out" 2>"$place/err" || got=$?
[ $got = 0 ] || [ $got = 2 ] || fail "exit code $got: $(cat "$place/out" "$place/err")"
! grep -q 'left out by the model$' "$place/out" || fail "a pair is left out: $(cat "$place/out")"

# Without --repeat the model chooses three of the four.
got=0
"${tune[@]}" steady --set load.0.for=1s --limit 1,20 --timeout 50ms,200ms --within 1s "${leak[@]}" \
    >"$place/out" 2>"$place/err" || got=$?
[ $got = 0 ] || [ $got = 2 ] || fail "exit code $got: $(cat "$place/out" "$place/err")"
[ "$(grep -c 'left out by the model$' "$place/out")" = 1 ] || fail "not one pair is left out: $(cat "$place/out")"
expect_nothing_left
