# Sourced by the tests of the whole program: a place of their own for servers and results, and
# functions that check what must hold.
# shellcheck shell=bash
set -euo pipefail

mailproof=$BUILD_DIR/bin/mailproof
# shellcheck disable=SC2034 # used by those that source this
zoo=$BUILD_DIR/tests/mailroom-zoo

# shellcheck source=harness/zoo/says.sh
. "$SOURCE_DIR/harness/zoo/says.sh"

# The folder is on a real disk, and readable by the user that root's servers run as.
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
    [ "$got" = "$want" ] && return
    cat "$place/out" "$place/err" >&2
    fail "exit code $got instead of $want: $*"
}

# number KEY FILE: an integer of a JSON file, by its (unique) key.
number() {
    sed -n "s/^ *\"$1\": \([0-9.-]*\),\{0,1\}$/\1/p" "$2" | head -n 1
}

# Fails when a file or process of this test's runs is left.
expect_nothing_left() {
    local left
    left=$(find "$place/tmp" -mindepth 1 | head -n 3)
    [ -z "$left" ] || fail "left behind: $left"
    if pgrep -f "$place" >/dev/null; then
        pgrep -af "$place" >&2
        fail "processes are still running"
    fi
}

# With a sanitizer, freed memory is kept, so every program built with it would seem to
# leak. The sanitizer has a leak check of its own.
leak=()
[ -z "${SANITIZE-}" ] || leak=(--set allow.leak=any)

# Skips the test where the harness cannot have a disk of its own.
needs_crashing_disk() {
    local why=
    [ "$(id -u)" -eq 0 ] || why="needs root"
    [ -x "$BUILD_DIR/bin/mailproof-disk" ] || why="needs mailproof-disk, which is built where libfuse3-dev is"
    [ -c /dev/fuse ] && [ -e /dev/loop-control ] || why="needs /dev/fuse and loop devices"
    [ -z "$why" ] || { echo "$why"; exit 77; }
}

# run SCENARIO OPTION…: keeps the results in our place, and expects nothing of the
# machine's speed unless a test says so. On a machine that other programs use, a good
# collector may come back seconds after a fault, and everything may be many seconds late.
run() {
    "$mailproof" run --quiet --out "$place/results" --set 'expect={}' --set recovery_limit=1m \
        --set slack=30s --set drain=30s \
        "${leak[@]}" "$@"
}

# keep SCENARIO OPTION…: runs with --keep, so that the server stays.
keep() {
    expect_exit 0 run "$@" --set load.0.for=1s --set load.0.rate=20/s --keep
    remove=$(sed -n 's/^  remove it: //p' "$place/out")
    [ -n "$remove" ] || fail "nothing was kept"
}
