#!/usr/bin/env bash
# A run that is over, however it ended, leaves no trace: no process, folder,
# socket, mount, loop device, network namespace, port, container, volume, and no
# shared memory. Where the harness itself was killed, the next run removes what it left.
#
# In namespaces of its own, where everything that is counted is this test's. With
# `all`, also the ends that need a disk, a network or a container of their own.
# shellcheck source=harness/tests/lib.sh
what=${1-short}
if [ "${2-}" != inside ]; then
    [ "$(id -u)" -eq 0 ] || { echo "skipped: needs root, for namespaces of its own" && exit 77; }
    unshare --ipc --mount --pid --net --fork --mount-proc true 2>/dev/null ||
        { echo "skipped: no namespaces here" && exit 77; }
    exec unshare --ipc --mount --pid --net --fork --mount-proc --kill-child "$0" "$what" inside
fi
. "$(dirname "$0")/lib.sh"
mount -t tmpfs -o size=1g,mode=1777 shm /dev/shm

# Prints a line for each thing that a run could leave.
traces() {
    find "$place/tmp" /dev/shm -mindepth 1 -printf 'file %p\n'
    awk 'NR > 1 {print "System V memory", $2}' /proc/sysvipc/shm
    awk 'NR > 1 {print "System V semaphore", $2}' /proc/sysvipc/sem
    awk '{print "mount", $2}' /proc/mounts
    losetup --list --noheadings --output NAME,BACK-FILE 2>/dev/null | grep -F "$place" || true
    for process in /proc/[0-9]*; do
        { tr '\0' ' ' <"$process/cmdline" | sed 's/^/process /;s/$/\n/'; } 2>/dev/null
        readlink "$process/ns/net" "$process/ns/mnt" 2>/dev/null
    done | grep -v -e '^process $' -e '/bin/bash .*traces_test' -e ' inside $' | sort -u
    awk 'FNR > 1 && $4 == "0A" {print "port", $2}' /proc/net/tcp /proc/net/tcp6
    [ -z "${engine-}" ] || containers
}

# Lists the containers and volumes of the engine. Its storage is this test's own.
containers() {
    "$engine" ps -a --format 'container {{.Names}}'
    "$engine" volume ls --format 'volume {{.Name}}'
}

# A killed process takes a moment to be gone.
expect_no_traces() {
    local left=100
    until traces >"$place/after" && diff "$place/before" "$place/after" >"$place/diff"; do
        left=$((left - 1))
        [ "$left" -gt 0 ] || { head -n 20 "$place/diff" && fail "traces are left after: $*"; }
        sleep 0.1
    done
}

# ended_by SIGNAL CONDITION OPTION…: makes a run whose harness gets a signal once the
# condition holds, and with it the processes that the condition names.
ended_by() {
    local signal=$1 condition=$2 pid left=600 with=
    shift 2
    # Not by the function run, because the signal would then go to its subshell.
    "$mailproof" run --quiet --out "$place/results" "$@" >"$place/out" 2>&1 &
    pid=$!
    until $condition; do
        kill -0 "$pid" 2>/dev/null || return 0
        left=$((left - 1))
        [ "$left" -gt 0 ] || fail "waited in vain for $condition"
        sleep 0.05
    done
    # shellcheck disable=SC2086 # several
    kill "-$signal" "$pid" $with
    wait "$pid" 2>/dev/null || true
}

collector_runs() {
    pgrep -f "postgres: mailproof_collector .*" >/dev/null
}

# True when the postmaster stands still.
server_stands_still() {
    local pid
    for pid in $(pgrep -f "postgres -D $place/"); do
        ! grep -qs "^State:.T" "/proc/$pid/status" || return 0
    done
    return 1
}

small=(steady --set load.0.for=1s --set load.0.rate=20/s)

# A run that removes what another one left. A busy machine may make it inconclusive.
sweep() {
    local got=0
    run "${small[@]}" "$@" >"$place/out" 2>&1 || got=$?
    [ "$got" = 0 ] || [ "$got" = 2 ] || { cat "$place/out" >&2 && fail "exit code $got"; }
}

traces >"$place/before"

# The server is killed at the end of each run, and by a fault in its middle.
expect_exit 0 run "${small[@]}" --set 'faults=[{at: 200ms, do: kill-server, for: 100ms}]'
expect_no_traces "kill-server"
[ -n "$(find "$place/results" -name result.json)" ] || fail "there was no run"

ended_by INT collector_runs steady
expect_no_traces "Ctrl-C"

# A full disk takes no report, but the verdict is printed.
mkdir "$place/full"
mount -t tmpfs -o size=16k full "$place/full"
expect_exit 70 run "${small[@]}" --out "$place/full/results"
grep -q '^steady: pass' "$place/out" && grep -q 'No space left' "$place/err" || fail "no verdict"
umount "$place/full"
expect_no_traces "a full disk"

# The harness is killed in three ways: while its server stands still, together with the
# postmaster, and together with the postmaster of a server that stands still.
and_postmaster() {
    "$@" && with=$(pgrep -o -f "postgres -D $place/")
}
ended_by KILL server_stands_still server-pauses
ended_by KILL 'and_postmaster collector_runs' steady
ended_by KILL 'and_postmaster server_stands_still' server-pauses
awk 'NR > 1 {found = 1} END {exit !found}' /proc/sysvipc/shm || fail "a killed run left nothing to sweep"
sweep
expect_no_traces "SIGKILL of the harness"

# Somebody else kills the postmaster.
kill_postmaster() {
    collector_runs && pkill -KILL -o -f "postgres -D $place/"
}
ended_by INT kill_postmaster steady
expect_no_traces "SIGKILL of the postmaster"

# Runs with a disk and a network of their own; skipped where these cannot be made.
[ "$what" = all ] || exit 0
for scenario in power-cut half-open-kernel; do
    ended_by INT collector_runs "$scenario"
    expect_no_traces "Ctrl-C of $scenario"
    ended_by KILL collector_runs "$scenario"
done
sweep
expect_no_traces "SIGKILL of the harness"

# Runs in a container of podman. docker's would be outside of these namespaces. The
# container that tries the image comes before the count, because podman keeps some things
# for all later containers.
ip link set dev lo up
# shellcheck source=harness/tests/engine.sh
. "$(dirname "$0")/engine.sh"
if ! find_engine || ! make_image; then
    echo "containers were not counted: $why"
    exit 0
fi
traces >"$place/before"
ended_by INT collector_runs steady "${in_container[@]}"
expect_no_traces "Ctrl-C of a run in a container"
ended_by KILL collector_runs steady "${in_container[@]}"
[ "$(containers | wc -l)" = 2 ] || fail "a killed run left no container and volume to sweep: $(containers)"
sweep "${in_container[@]}"
expect_no_traces "SIGKILL of the harness of a run in a container"
