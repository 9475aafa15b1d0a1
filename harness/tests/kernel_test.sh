#!/usr/bin/env bash
# A network that the kernel breaks. The reference collector notices it by TCP's own
# timers, a collector without them is convicted, and nothing of the network is left.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"

# The test checks this from outside, so that a broken harness does not excuse itself.
if [ "$(id -u)" -ne 0 ]; then
    echo "skipped: network namespaces need root"
    exit 77
elif ! command -v ip >/dev/null || ! command -v nft >/dev/null; then
    echo "skipped: ip or nft is not installed (Debian: iproute2, nftables)"
    exit 77
elif ! unshare --net sh -c 'ip link add type veth && nft add table ip probe' 2>/dev/null; then
    echo "skipped: this machine allows no network namespaces, or its kernel filters nothing in them"
    exit 77
fi

# The network of a killed harness disappears. The process of the collector, which is in
# the network, shows whether it did.
"$mailproof" run --quiet --out "$place/killed" partition-kernel >"$place/killed.out" 2>&1 &
harness=$!
left=1200
until collector=$(pgrep -P "$harness" -f mailroom-collector); do
    left=$((left - 1))
    [ "$left" -gt 0 ] || fail "the collector did not start: $(cat "$place/killed.out")"
    sleep 0.05
done
network=$(readlink "/proc/$collector/ns/net")
[ "$network" != "$(readlink /proc/self/ns/net)" ] || fail "the collector is in our own network"
kill -KILL "$harness"
wait "$harness" || true
left=1200
while readlink /proc/[0-9]*/ns/net 2>/dev/null | grep -qxF "$network"; do
    left=$((left - 1))
    [ "$left" -gt 0 ] || fail "the network of a killed run is still there"
    sleep 0.05
done

# begin NAME COMMAND…: runs the command in the background. These runs mostly wait.
begin() {
    local name=$1
    shift
    {
        local got=0
        "$@" >"$place/$name.out" 2>&1 || got=$?
        echo "$got" >"$place/$name.code"
    } &
}

# ended NAME CODE: waits for the run, and checks its exit code.
ended() {
    local got
    got=$(cat "$place/$1.code")
    [ "$got" = "$2" ] && return
    cat "$place/$1.out" >&2
    fail "$1: exit code $got instead of $2"
}

# A collector with neither deadlines nor keepalives: the zoo's good one, whose health
# check would come only after the run. TCP retransmits 12.6 s after its first try. That is
# 5 s or more after this silence, which does not count as a recovery.
never=(run partition-kernel --set faults.0.for=8s --set load.2.for=9500ms
    --set recovery_limit=2s --out "$place/never"
    "${says[@]}" --collector "env MAILROOM_HEALTHCHECK_INTERVAL=270000 $zoo")
# The partition is as short as possible: the collector's keepalives give up after 12 s.
partition=(run partition-kernel --set faults.0.for=13s --set load.2.for=14s)
half_open=(run half-open-kernel --set faults.0.for=6s --set faults.1.at=9s
    --set faults.1.for=6s --set load.0.for=16s)

begin never "${never[@]}"
begin partition "${partition[@]}"
begin half-open "${half_open[@]}"

# Without root the run is skipped, with the reason and code 77.
mkdir -m 777 "$place/nobody"
expect_exit 77 setpriv --reuid=65534 --regid=65534 --clear-groups \
    "$mailproof" run --out "$place/nobody" partition-kernel
grep -q 'skipped: through: kernel needs root' "$place/out" || fail "no reason"

wait
ended partition 0
ended half-open 0
ended never 1

for scenario in partition half-open; do
    result=$place/results/$scenario-kernel/latest
    grep -qE 'kernel dropped ([1-9][0-9]* packets to the server|0 packets to the server, [1-9])' \
        "$result/result.json" || fail "$scenario: no evidence that packets were dropped"
done
logs=$place/results/partition-kernel/latest/logs
grep -q 'Connection timed out' "$logs/collector-0.log" || fail "TCP did not notice at the collector"
grep -q 'could not receive data from client: Connection timed out' "$logs/server.log" ||
    fail "TCP did not notice at the server"
grep -q 'unrecovered: partition at 2' "$place/never.out" ||
    fail "a collector that never notices was not convicted of it"

# The later runs have swept what the killed run left on the disk.
expect_nothing_left
