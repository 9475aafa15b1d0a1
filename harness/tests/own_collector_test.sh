#!/usr/bin/env bash
# The page for those who write a collector is true. Its test vector is correct, and its
# examples keep their promises: in one scenario with many faults, and with the
# argument "all" also in every scenario of a promise that they make.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"

page=$SOURCE_DIR/harness/subject/WRITE-YOUR-OWN.md
examples=$SOURCE_DIR/harness/subject/examples
promised=(promise-limit promise-timeout promise-once-per-death promise-order promise-reconnect
    promise-backpressure promise-stop promise-stop-silent)

main() {
    signatures_are_as_the_page_says
    /usr/bin/python3 -c 'import psycopg2' 2>/dev/null || skip "python3-psycopg2 is not installed"
    refuses_to_start_without_settings collector.py collector.sh
    survives_everything collector.py 100/s
    survives_everything collector.sh 20/s
    if installs_node; then
        refuses_to_start_without_settings node/collector.js
        survives_everything node/collector.js 100/s
    fi
    if [ "${1-}" = all ]; then
        keeps_its_promises collector.py --set slack=3s
        judge collector.py promise-small-idle --promises no_loss,small
        keeps_its_promises collector.sh --set load.0.rate=60/s --set slack=500ms
        dies_at_every_message collector.py
        survives_draws collector.py
        is_convicted_of_one_more collector.py standby promise-takeover
        is_convicted_of_one_more collector.py sharing promise-sharing
        for collector in collector.py $node; do
            is_green "$collector" --tag promise
            is_green "$collector" --tag quick
        done
    fi
    expect_nothing_left
}

# Makes the Node example run from a copy of the examples that has its modules.
installs_node() {
    command -v node npm >/dev/null || { echo "collector.js: not tried, node or npm is not installed" && return 1; }
    cp -r "$examples" "$place/examples"
    (cd "$place/examples/node" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error) ||
        { echo "collector.js: not tried, npm ci failed" && return 1; }
    examples=$place/examples node=node/collector.js
}
node=

# A correct collector breaks nothing that it promises, in any scenario, and what it does not promise
# is skipped. A busy machine may make a run inconclusive or late.
is_green() { # collector, option…
    local collector=$1
    shift
    "$mailproof" run scenarios "$@" --quiet --out "$place/green" --collector "$examples/$collector" \
        --set slack=1s >"$place/green.out" 2>&1 || true
    ! grep -E ' [0-9]+ BROKEN' "$place/green.out" ||
        { cat "$place/green.out" && fail "$collector: a promise is broken: $*"; }
    grep -q ' runs passed' "$place/green.out" || { cat "$place/green.out" && fail "$collector: no verdict"; }
}

skip() {
    echo "skipped: $1"
    exit 77
}

on_page() { sed -n "s/^$1  *//p" "$page"; }

# Computes signatures with openssl, which shares no code with the harness or with the
# examples.
signatures_are_as_the_page_says() {
    local key secret code
    key=$(on_page key) secret=$(on_page secret) code=$(on_page code)
    [ "$(signature /activate "$secret" "" "$key")" = "$(on_page 'activation signature')" ] ||
        fail "the page's activation signature"
    [ "$(signature /recover "$secret" "$code" "$key")" = "$(on_page 'recovery signature')" ] ||
        fail "the page's recovery signature"
    [ "$(worked_texts "$secret")" = "$(grep '^1,ann' "$page")" ] || fail "the page's worked line"
}

signature() { # path, secret, code, key
    printf '%b' "$1$(hex_escapes "$2")$3" |
        openssl dgst -sha256 -mac HMAC -macopt "hexkey:$4" | sed 's/.*= //'
}

hex_escapes() {
    local hex=$1
    while [ -n "$hex" ]; do
        printf '\\x%s' "${hex:0:2}"
        hex=${hex:2}
    done
}

worked_texts() { # secret
    printf '1,ann@example.org,ann,%s,,2,bob@example.org,bob,%s,%s\n' \
        "$(text "$1$(on_page 'activation signature')")" \
        "$(text "$1$(on_page 'recovery signature')")" "$(on_page code)"
}

text() { tr a-f A-F <<<"$1" | basenc -d --base16 | basenc --base64url -w 0 | tr -d =; }

refuses_to_start_without_settings() {
    local collector got
    for collector; do
        got=0
        env -u MAILROOM_SECRET_KEY "$examples/$collector" 2>/dev/null || got=$?
        [ "$got" = 78 ] || fail "$collector without settings exits with $got"
    done
}

judge() { # collector, scenario or option…
    local collector=$1 got=0
    shift
    run --collector "$examples/$collector" "$@" \
        >"$place/judged.out" 2>&1 || got=$?
    [ "$got" = 0 ] || { cat "$place/judged.out" && fail "$collector: exit code $got: $*"; }
}

survives_everything() { # collector, rate
    judge "$1" promise-no-loss --set load.0.for=3s --set load.0.rate="$2" --set 'faults=[
        {at: 300ms, do: terminate-backend, target: collector}, {at: 800ms, do: kill-collector},
        {at: 1200ms, do: reset}, {at: 1600ms, do: kill-server, for: 100ms},
        {at: 2100ms, do: read-only-server, for: 100ms}, {at: 2500ms, do: close-reader}]'
}

keeps_its_promises() { # collector, scenario or option…
    local collector=$1 scenario
    shift
    for scenario in "${promised[@]}"; do
        judge "$collector" "$scenario" "$@"
    done
}

dies_at_every_message() {
    local got=0
    "$mailproof" run --quiet --out "$place/cuts" every-cut --every-cut \
        --collector "$examples/$1" >"$place/cuts.out" 2>&1 || got=$?
    [ "$got" = 0 ] || { cat "$place/cuts.out" && fail "$1: a cut loses or duplicates"; }
}

# Each draw asks only for what the collector promises, so none is left out.
survives_draws() {
    "$mailproof" explore --quiet --draws 12 --jobs 2 --out "$place/explored" --set slack=1s \
        --collector "$examples/$1" >"$place/explored.out" 2>&1 || true
    grep -q '^  tried  *12 draws .* 0 violated' "$place/explored.out" ||
        { cat "$place/explored.out" && fail "$1: explore"; }
}

# With one promise more, which it does not keep, it is violated where it was skipped before.
is_convicted_of_one_more() { # collector, promise, scenario
    local kept=no_loss,once,limit,timeout,order,reconnect,backpressure,stop,dead_letters
    expect_exit 77 run "$3" --collector "$examples/$1" --promises "$kept"
    expect_exit 1 run "$3" --set drain=10s --set slack=3s --set recovery_limit=30s --collector "$examples/$1" --promises "$kept,$2"
}

main "$@"
