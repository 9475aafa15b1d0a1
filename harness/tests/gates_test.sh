#!/usr/bin/env bash
# The harness does not blame its own limits on the collector. A plan that no machine can
# keep is inconclusive, and the reason names the gate and the programs that used the
# processors. A closed loop has no plan to keep; its results say that it was one.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"

cat >"$place/greedy.yaml" <<'YAML'
name: greedy
summary: More inserts than one connection can do.
load:
  - {for: 1s, rate: 200000/s, connections: 1}
collector: {batch_timeout: 100ms}
drain: 2s
YAML
expect_exit 2 run "$place/greedy.yaml" --set slack=auto
grep -q '^greedy: inconclusive' "$place/out" || fail "not inconclusive"
grep -Eq '^  because +the generator (could not send [0-9]+ tokens|sent only)' "$place/out" ||
    fail "the drop is not told"
grep -Eq '^  because +the generator fell behind: lag p99 [0-9]+ ms, at most 100 ms \(processors [0-9]+% busy: harness [0-9]+%, collector [0-9]+%,' "$place/out" ||
    fail "who used the processors is not told"

# The second try is inconclusive, too. junit.xml has only the last try.
got=0
run "$place/greedy.yaml" --set slack=auto --retry-inconclusive 1 --junit "$place/junit.xml" >"$place/out" || got=$?
[ "$got" = 2 ] || fail "exit code $got instead of 2"
[ "$(grep -c '^greedy: inconclusive, tried again (1 of 1)$' "$place/out")" = 1 ] || fail "not tried again"
[ "$(grep -c '^greedy: inconclusive (seed' "$place/out")" = 2 ] || fail "not two runs"
[ "$(grep -c '<testsuite ' "$place/junit.xml")" = 1 ] || fail "more than the last try in junit.xml"

expect_exit 0 run steady --set load.0.for=1s --set load.0.rate=max --set 'expect={lost: "= 0"}'
grep -q 'closed loop' "$place/out" || fail "the closed loop is not labelled"
result=$place/results/steady/latest/result.json
grep -q '"closed_loop": true' "$result" || fail "nor in result.json"
grep -q '"offered": null' "$result" || fail "a closed loop offers no rate"

# Recorded arrivals go into the result folder, and the run is repeated from there.
printf '0.1\n0.2,order 7\n0.2\n' >"$place/three.csv"
cat >"$place/recorded.yaml" <<'YAML'
name: recorded
summary: Three inserts at the times of a file.
load:
  - {name: all, for: 1s, arrivals: trace, file: three.csv}
YAML
expect_exit 0 run "$place/recorded.yaml" --set 'expect={delivered: "= 3"}'
rm "$place/three.csv"
cp -r "$(readlink -f "$place/results/recorded/latest")" "$place/kept"
expect_exit 0 run "$place/kept"
[ "$(number delivered "$place/results/recorded/latest/result.json")" = 3 ] || fail "not repeated"
[ "$(wc -l <"$place/results/recorded/latest/intervals.csv")" -ge 2 ] || fail "no intervals.csv"
expect_nothing_left
