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
# the first line says so.
silent_because() {
    local what=$1 cause=$2 script=$place/collector.$((++scripts)) first
    printf '#!/bin/sh\n%s\n' "$3" >"$script"
    chmod 755 "$script"
    expect_exit 1 "$mailproof" run "$place/few.yaml" --quiet --out "$place/results" \
        --collector "$script" "${@:4}"
    read -r first <"$place/out"
    [[ $first == few:\ violated* ]] || fail "the first line is: $first"
    [[ $first == *"$what"* && $first == *"$cause"* ]] ||
        fail "neither '$what' nor '$cause', but: $first"
}
scripts=0
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
    --set collector.layout=reference
grep -q '"silence": {' "$place/results/few/latest/result.json" || fail "no silence in result.json"
expect_nothing_left
