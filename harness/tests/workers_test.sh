#!/usr/bin/env bash
# Several generators: four workers send what one would, and come to the same verdict;
# one that is killed leaves the unknown and an inconclusive run; another plan is refused.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"

# hire COUNT [OPTION…]: workers, whose addresses are then in $workers.
hire() {
    local count=$1 k left
    shift
    pids=() workers=
    rm -f "$place"/worker-*
    for ((k = 1; k <= count; k++)); do
        "$mailproof" load --listen 127.0.0.1:0 "$@" >"$place/worker-$k" 2>&1 &
        pids+=($!)
    done
    for ((k = 1; k <= count; k++)); do
        left=1200
        until grep -qs '^listening on port' "$place/worker-$k"; do
            left=$((left - 1))
            [ "$left" -gt 0 ] || fail "no worker: $(cat "$place/worker-$k")"
            sleep 0.05
        done
        workers+=${workers:+,}127.0.0.1:$(sed -n 's/^listening on port //p' "$place/worker-$k")
    done
}

dismiss() {
    kill "${pids[@]}" 2>/dev/null || true
    wait "${pids[@]}" 2>/dev/null || true
}
trap 'dismiss; rm -rf "$place"' EXIT

metric() { # key
    number "$1" "$place/results/late-commits/latest/result.json"
}

# Prints what the plan alone decides, and how much the histogram of latencies holds.
figures() {
    echo "$(metric attempted) $(metric committed) $(metric rolled_back) $(metric expected)" \
        "$(metric delivered) $(metric lost) $(metric duplicated)" \
        "$(sed -n 's/.*Total count *= *\([0-9]*\).*/\1/p' \
            "$place"/results/late-commits/latest/latency*.hgrm | tr '\n' ' ')"
}

plan=(late-commits --set load.0.for=4s --set load.0.rate=100/s)

expect_exit 0 run "${plan[@]}"
alone=$(figures)
hire 4
expect_exit 0 run "${plan[@]}" --workers "$workers"
[ "$(figures)" = "$alone" ] || fail "four workers: $(figures); one generator: $alone"
for k in 1 2 3 4; do
    grep -q "part $k/4 of late-commits is done" "$place/worker-$k" || fail "worker $k: $(cat "$place/worker-$k")"
done

# In the middle of the load, when it has committed something. The others go on.
rm -rf "$place/results"
"$mailproof" run --quiet --out "$place/results" --set slack=3s --set 'expect={}' late-commits \
    --set load.0.for=20s --set load.0.rate=50/s --workers "$workers" >"$place/out" 2>&1 &
harness=$!
left=1200
until grep -qs collecting "$place"/results/*/*/logs/collector-0.log; do
    left=$((left - 1))
    [ "$left" -gt 0 ] || fail "the run did not begin: $(cat "$place/out")"
    sleep 0.05
done
sleep 3
kill -KILL "${pids[1]}"
got=0
wait "$harness" || got=$?
[ "$got" = 2 ] || fail "exit code $got instead of 2: $(cat "$place/out")"
grep -q "1 of the workers were lost; worker 2 of 4" "$place/out" || fail "no word of it: $(cat "$place/out")"
[ "$(metric unknown)" -gt 0 ] || fail "nothing is unknown"
[ "$(metric lost)" = 0 ] || fail "what the worker took along counts as lost"
dismiss

# By ssh: a program of that name that runs the command here, whatever the host.
mkdir "$place/bin"
cat >"$place/bin/ssh" <<'SSH'
#!/bin/sh
echo "$@" >>"$SSH_ASKED"
while [ "$1" != -- ]; do shift; done
case $2 in nobody@*) echo "nobody: Permission denied (publickey)." >&2; exit 255 ;; esac
shift 2
exec "$@"
SSH
chmod +x "$place/bin/ssh"
ln -s "$mailproof" "$place/bin/mailproof"
export PATH=$place/bin:$PATH SSH_ASKED=$place/asked
rm -rf "$place/results"
expect_exit 0 run "${plan[@]}" --workers "ssh://one,ssh://me@two:2222,ssh://three$mailproof"
[ "$(figures)" = "$alone" ] || fail "three by ssh: $(figures); one generator: $alone"
grep -q -- "-p 2222 -- me@two mailproof load --listen -" "$place/asked" || fail "ssh was asked: $(cat "$place/asked")"
expect_exit 70 run "${plan[@]}" --workers "ssh://one,ssh://nobody@two"
grep -q "Permission denied" "$place/err" || fail "no reason: $(cat "$place/err")"
grep -q "worker 2 of 2 at ssh://nobody@two" "$place/err" || fail "not which: $(cat "$place/err")"
expect_exit 64 run "${plan[@]}" --workers "ssh://-oProxyCommand=x"

# A worker that was started for one plan serves no other; nor does a closed loop.
hire 1 --part 1/1 --of late-commits --seed 7
expect_exit 64 run "${plan[@]}" --workers "$workers"
grep -q "it was started for another plan" "$place/err" || fail "no reason: $(cat "$place/err")"
expect_exit 64 run "${plan[@]}" --set load.0.rate=max --workers "$workers"
grep -q "a closed loop" "$place/err" || fail "no reason: $(cat "$place/err")"
dismiss
expect_nothing_left
