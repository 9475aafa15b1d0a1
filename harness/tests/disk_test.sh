#!/usr/bin/env bash
# A disk of our own that crashes. A power cut takes what was not flushed and nothing else. A disk
# that lies is found out. No mount, loop device or process is left, even when the harness was killed.
#
# With `all`: also pages that tear, other file systems, a host that dies, a disk that is never asked
# to flush.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"

needs_crashing_disk

# Lists the loop devices, FUSE mounts and programs that use this test's folder.
traces() {
    losetup -a 2>/dev/null | grep -F "$place" || true
    grep -F "$place" /proc/mounts || true
    pgrep -af "mailproof-disk $place" || true
}

expect_no_traces() {
    local left
    for _ in $(seq 200); do
        left=$(traces)
        [ -n "$left" ] || break
        sleep 0.05
    done
    [ -z "$left" ] || fail "left behind: $left"
}

# cut CODE OPTION…: runs a short load in the middle of which the power is cut once.
cut() {
    local code=$1
    shift
    expect_exit "$code" run power-cut --set load.0.for=2s \
        --set 'faults=[{at: 1s, do: cut-power, for: 100ms}]' "$@"
    result=$place/results/power-cut/latest/result.json
    grep -qE '"evidence": ".*gone of the canary: [1-9][0-9]* of 128 unflushed' "$result" ||
        fail "the canary is still there: $(grep evidence "$result")"
}

# On a busy machine a server recovers slowly from a disk that goes through a program.
patient=(--set drain=60s)

cut 0 "${patient[@]}"
grep -q 'unflushed, 0 flushed' "$result" || fail "something flushed is gone"
expect_no_traces

cut 1 --set drain=10s --set postgres.disk=lying --set postgres.checksums=false
[ "$(number vanished "$result")" -gt 0 ] || fail "a disk that lies lost nothing"
grep -qE 'unflushed, [1-9][0-9]* flushed' "$result" || fail "the flushed canary does not tell the lie"
expect_no_traces

# The disk is slow, fails or is full. The run must notice each, and nothing is lost. A server that
# recovers from a panic needs no room, so the full disk has a run of its own.
expect_seen() { # evidence
    grep -q "\"evidence\": \".*$1" "$result" || fail "not seen: $1"
}
expect_exit 0 run power-cut "${patient[@]}" --set load.0.for=2s --set 'faults=[
    {at: 500ms, do: slow-disk, by: 5ms, for: 500ms}, {at: 1500ms, do: fail-flush, n: 2, for: 100ms}]'
expect_seen 'flushes took 5 ms and more'
expect_seen 'flush 2 failed, the server panicked'
expect_exit 0 run power-cut "${patient[@]}" --set load.0.for=3s --set 'faults=[{at: 1s, do: fill-disk, for: 1500ms}]'
expect_seen 'the server found no room'
expect_no_traces

# The harness is killed while the server runs on the disk: everything but the folder disappears by
# itself, and the next run removes that.
"$mailproof" run --quiet --out "$place/results" power-cut >"$place/out" 2>&1 &
pid=$!
for _ in $(seq 600); do
    ! pgrep -f "postgres -D $place/.*/disk/data" >/dev/null || break
    sleep 0.05
done
sleep 0.5
kill -KILL "$pid"
wait "$pid" 2>/dev/null || true
expect_no_traces
expect_exit 0 run steady --set load.0.for=500ms
expect_nothing_left
[ "${1-}" = all ] || exit 0

# Without the full pages in its log a server cannot repair the pages that the cuts tear.
expect_exit 1 run power-cut --set drain=10s --set postgres.durability=waive --set postgres.settings.full_page_writes=off
grep -qE '"evidence": "[1-9][0-9]* pages torn' "$result" || fail "no page is torn: $(grep evidence "$result")"
expect_no_traces

# The same on other file systems.
others=(ext4-writeback)
[ -z "$(command -v mkfs.xfs)" ] || ! grep -qw xfs /proc/filesystems || others+=(xfs)
for files in "${others[@]}"; do
    cut 0 "${patient[@]}" --set "postgres.filesystem=$files"
    grep -q 'unflushed, 0 flushed' "$result" || fail "$files: something flushed is gone"
done
expect_no_traces

# The host of server and collector dies: nothing is lost, a line may come again.
expect_exit 0 run host-dies "${patient[@]}" --set load.0.for=3s --set 'faults=[{at: 1s, do: kill-host, for: 100ms}]'
grep -qE '"evidence": "1 collector killed; .*; started again"' "$place/results/host-dies/latest/result.json" ||
    fail "the host did not die: $(grep evidence "$place/results/host-dies/latest/result.json")"
expect_no_traces

# When nothing is ever flushed, only one state remains, and everything is lost.
for how in postgres.disk=no-barriers postgres.settings.fsync=off; do
    expect_exit 1 run power-cut --every-flush --set postgres.durability=waive --set "$how"
    grep -qE '^  vanished +1 +40 ' "$place/out" || { cat "$place/out" >&2; fail "$how lost nothing"; }
done
expect_no_traces
expect_nothing_left
