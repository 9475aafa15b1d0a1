# Sourced by the tests of the whole program: a place of their own for servers
# and results, and few words to say what must hold.
# shellcheck shell=bash
set -euo pipefail

mailproof=$BUILD_DIR/bin/mailproof
# shellcheck disable=SC2034 # used by those that source this
zoo=$BUILD_DIR/tests/mailroom-zoo

# On a real disk, and open to the user that a root's server runs as.
place=$(mktemp -d /var/tmp/mp-test.XXXXXX)
chmod 755 "$place"
mkdir -m 755 "$place/tmp"
export MAILPROOF_TMPDIR=$place/tmp
trap 'rm -rf "$place"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

# expect_exit CODE COMMAND…: runs it, keeps its output in $place/out and err.
expect_exit() {
    local want=$1 got=0
    shift
    "$@" >"$place/out" 2>"$place/err" || got=$?
    if [ "$got" != "$want" ]; then
        cat "$place/out" "$place/err" >&2
        fail "exit code $got instead of $want: $*"
    fi
}

# number KEY FILE: an integer of a JSON file, by its (unique) key.
number() {
    sed -n "s/^ *\"$1\": \([0-9.-]*\),\{0,1\}$/\1/p" "$2" | head -n 1
}

# No server, no socket, no folder of ours is left.
expect_nothing_left() {
    local left
    left=$(find "$place/tmp" -mindepth 1 | head -n 3)
    [ -z "$left" ] || fail "left behind: $left"
    if pgrep -f "$place" >/dev/null; then
        pgrep -af "$place" >&2
        fail "processes are still running"
    fi
}

# run SCENARIO OPTION…: with results in our place.
run() {
    "$mailproof" run --quiet --out "$place/results" "$@"
}
