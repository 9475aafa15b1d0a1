#!/usr/bin/env bash
# Tests a server in a container, with an image that is built here without any registry: each fault
# that a container can suffer takes effect, other scenarios are refused, and no container, volume or
# image is left, however the run ended. With scenarios as arguments it only runs these, in
# containers. With -- and a command it only runs that command, with the options that put a server
# into a container.

# podman makes a bridge and firewall rules. In a network namespace of the test's own these
# collide with no others, and disappear with the namespace. docker's network is elsewhere.
docker=
! docker info >/dev/null 2>&1 || docker=1
if [ -z "$docker" ] && [ -z "${OWN_NETWORK-}" ] && command -v podman >/dev/null && [ "$(id -u)" -eq 0 ]; then
    unshare --net --mount true ||
        { echo "skipped: this machine allows no namespaces, so no containers"; exit 77; }
    OWN_NETWORK=1 exec unshare --net --mount --propagation private "$0" "$@"
fi
[ -z "${OWN_NETWORK-}" ] || ip link set dev lo up

# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"

# shellcheck source=harness/tests/engine.sh
. "$(dirname "$0")/engine.sh"

skip() {
    echo "skipped: $*"
    exit 77
}

ours() { # lists what a run of ours has made and not removed
    "$engine" ps -a --filter label=mailproof --format '{{.Names}}'
    "$engine" volume ls --format '{{.Name}}' | grep '^mailproof-' || true
}

# Others may run mailproof with the same docker: only the runs of this test count.
left_by() { # pid
    ours | grep "^mailproof-$1-" || true
}

has_container() { # pid
    "$engine" ps -a --filter label=mailproof --format '{{.Names}}' | grep -q "^mailproof-$1-"
}

find_engine || skip "$why"
make_image || skip "$why"
code=0

if [ "${1-}" = -- ]; then
    "${@:2}" "${in_container[@]}" || code=$?
    exit "$code"
fi

if [ $# -gt 0 ]; then
    "$mailproof" run "$@" --quiet --out "$place/results" "${in_container[@]}" || code=$?
    exit "$code"
fi

# A scenario that containers cannot run is refused before anything starts.
expect_exit 77 run power-cut "${in_container[@]}"
grep -q 'crashable needs provider: local, which container is not' "$place/out" || fail "no reason"
expect_exit 77 run failover-sync partition-kernel "${in_container[@]}"
grep -q 'through: kernel needs provider: local, which container is not' "$place/out" || fail "no reason"
expect_exit 77 run steady --postgres container --set postgres.image=No-Name
grep -q 'the image No-Name is not here and cannot be pulled' "$place/out" || fail "no reason"

# A server that does not start says why, in its own words.
expect_exit 70 run steady "${in_container[@]}" --set 'postgres.settings.shared_buffers=lots'
grep -q 'invalid value for parameter "shared_buffers"' "$place/err" || fail "no reason"

# interrupted SIGNAL CODE: sends the signal to a run as soon as its container is there.
interrupted() {
    local got=0 left=300
    "$mailproof" run steady --quiet --out "$place/results" "${in_container[@]}" \
        >"$place/interrupted" 2>&1 &
    harness=$!
    until has_container "$harness"; do
        left=$((left - 1))
        [ "$left" -gt 0 ] || fail "no container came: $(cat "$place/interrupted")"
        sleep 0.2
    done
    kill "-$1" "$harness"
    wait "$harness" || got=$?
    [ "$got" = "$2" ] || fail "exit code $got after SIG$1"
}

# Waits for the container of a killed run, because the engine still finishes starting it.
until_running() { # pid
    local left=300
    until [ "$("$engine" inspect -f '{{.State.Running}}' "$(left_by "$1" | head -n 1)" 2>/dev/null)" = true ]; do
        left=$((left - 1))
        [ "$left" -gt 0 ] || fail "the container of the killed run never ran"
        sleep 0.2
    done
}

interrupted INT 130
[ -z "$(left_by "$harness")" ] || fail "left behind: $(left_by "$harness")"

# --keep leaves a server that can be reached and removed as the output says. Its volume
# cannot be inspected from here, so durability is proved from inside, as without root.
cat >"$place/blind" <<BLIND
#!/bin/sh
[ "\$1 \$2" != 'volume inspect' ] || exit 1
exec $engine "\$@"
BLIND
chmod +x "$place/blind"
MAILPROOF_CONTAINER_ENGINE=$place/blind keep steady "${in_container[@]}"
kept=$(sed -n 's/^  reach it:  .* exec -it \([^ ]*\) .*/\1/p' "$place/out")
kept_tokens() {
    "$engine" exec "$kept" psql -U postgres -Atc 'SELECT count(*) > 0 FROM tokens' mailroom
}
grep -q 'proved: ' "$place/out" || fail "durability was not proved from inside"
[ "$(kept_tokens)" = t ] || fail "the kept server has no tokens"

interrupted KILL 137
until_running "$harness"

# A volume that lost its container, and volumes of another boot and of another pid namespace, whose
# pids mean nothing here.
boot=$(cat /proc/sys/kernel/random/boot_id)
namespace=$(stat -L -c %i /proc/self/ns/pid)
volume() { # LABEL NAME: makes a volume of a process that certainly does not exist any more
    "$engine" volume create --label "mailproof=$1" "mailproof-1-1-$2" >/dev/null
}
has_volume() {
    "$engine" volume inspect "mailproof-1-1-$1" >/dev/null 2>&1
}
volume "$boot.$namespace" "left$$"
volume "other.$namespace" "boot$$"
volume "$boot.1" "space$$"

# Each fault that this provider can do, in one run, which also sweeps what the
# killed one left. An engine takes its time to start a server on a busy machine.
cat >"$place/verbs.yaml" <<'YAML'
name: verbs
summary: Every fault that a container can suffer.
collector: {batch_limit: 10, batch_timeout: 100ms}
load: [{for: 23s, rate: 20/s, recovery: 0.2}]
faults:
  - {at: 500ms, do: terminate-backend, target: collector}
  - {at: 1s, do: partition, for: 500ms}
  - {at: 2s, do: reset}
  - {at: 3s, do: restart-server}
  - {at: 7s, do: kill-server, for: 200ms}
  - {at: 11s, do: pause-server, for: 500ms}
  - {at: 13s, do: crash-server}
  - {at: 17s, do: stop-server, for: 200ms}
  - {at: 21s, do: kill-collector}
drain: 30s
YAML
expect_exit 0 run "$place/verbs.yaml" "${in_container[@]}"
result=$place/results/verbs/latest/result.json
[ "$(number committed "$result")" -gt 200 ] || fail "only $(number committed "$result") tokens"
[ "$(number vanished "$result")" = 0 ] || fail "a container's volume lost tokens"
grep -q 'proved: ' "$place/out" || fail "durability was not proved"
# Six of the faults end the collector's session and let its process live. On a slow
# machine one of them may come before the collector has recovered from the one before.
[ "$(number reconnects "$result")" -ge 3 ] || fail "only $(number reconnects "$result") reconnects"
grep -q 'connection authorized: user=mailproof_collector' "$place/results/verbs/latest/logs/server.log" ||
    fail "the server's log was not kept"
[ "$(grep -c '"ok": true' "$result")" = 9 ] || fail "not all nine faults took effect"
[ -z "$(left_by "$harness")" ] || fail "what a killed run left was not swept: $(left_by "$harness")"
[ "$(kept_tokens)" = t ] || fail "the next run took the kept server away"
bash -c "$remove" >/dev/null
! has_volume "left$$" || fail "a left volume was not swept"
for name in "boot$$" "space$$"; do
    has_volume "$name" || fail "the volume of a process elsewhere was taken away"
    "$engine" volume rm "mailproof-1-1-$name" >/dev/null
done
[ "$engine" != podman ] || [ -z "$(ours)" ] || fail "left behind: $(ours)"
[ -z "$(ls -A "$place/tmp")" ] || fail "left behind: $(ls -A "$place/tmp")"
