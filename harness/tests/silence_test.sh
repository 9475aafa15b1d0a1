#!/usr/bin/env bash
# The first line of a verdict says why a collector wrote nothing, for the set-ups that go wrong most.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"

cat >"$place/few.yaml" <<'YAML'
name: few
summary: A few tokens.
collector: {batch_timeout: 100ms}
load: [{for: 1s, rate: 60/s}]
drain: 1500ms
YAML

# silent_because WHAT CAUSE SCRIPT OPTION…: a collector that is this shell script is violated, and
# the first line says so. Goes on in the background, because most of a run is waiting for a collector
# that does not come; each has a folder of its own.
silent_because() {
    local what=$1 cause=$2 case=$place/case.$((++cases))
    mkdir "$case"
    printf '#!/bin/sh\n%s\n' "$3" >"$case/collector"
    chmod 755 "$case/collector"
    (
        code=0
        "$mailproof" run "$place/few.yaml" --quiet --out "$case/results" --collector "$case/collector" \
            "${@:4}" >"$case/out" 2>"$case/err" || code=$?
        [ "$code" = 1 ] || fail "exit code $code instead of 1: $(cat "$case/out" "$case/err")"
        read -r first <"$case/out"
        [[ $first == few:\ violated* ]] || fail "the first line is: $first"
        [[ $first == *"$what"* && $first == *"$cause"* ]] ||
            fail "neither '$what' nor '$cause', but: $first"
    ) &
    pids+=($!)
}
cases=0 pids=()
none='the collector wrote no line at all'

# shellcheck disable=SC2016 # the collector's shell expands it
ask='psql -Xq "$MAILROOM_DATABASE_URL" -c'
silent_because "$none" collector.layout=foreign "$ask 'CREATE TABLE mine()'; sleep 60" \
    --set collector.layout=reference
# shellcheck disable=SC2016
silent_because "$none" MAILROOM_DATABASE_URL \
    'psql -Xq "$MAILROOM_DATABASE_URL user=somebody"; sleep 60'
# shellcheck disable=SC2016
silent_because "$none" 'another server' 'psql -Xq "$MAILROOM_DATABASE_URL host=127.0.0.1 port=1"; sleep 60'
silent_because "$none" 'is not there' 'exec env no-such-interpreter x'
silent_because "$none" 'exit code 3' 'exit 3'
silent_because "$none" 'does it flush' 'exec sleep 60'
silent_because 'wrote nothing after' 'ran to the end' \
    "\"$BUILD_DIR/bin/mailroom-collector\" | { head -n 1; exec sleep 60; }" \
    --set collector.layout=reference --set drain=8s # the others take as long
failed=0
for pid in "${pids[@]}"; do
    wait "$pid" || failed=$((failed + 1))
done
[ "$failed" = 0 ] || fail "$failed of $cases causes are not told"
grep -q '"silence": {' "$place/case.$cases/results/few/latest/result.json" || fail "no silence in result.json"
expect_nothing_left
