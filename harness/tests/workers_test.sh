#!/usr/bin/env bash
# Several generators. Four workers send what one generator would, and the verdict is the
# same. A killed worker leaves unknown outcomes and an inconclusive run. A worker gives away
# nothing of its machine. With `ssh`, the same with workers that a real ssh starts through a real
# sshd: those of another user, and one on another machine.
#
# The other machine is a network namespace. For it, and for the files of root's sshd, the
# test needs namespaces of its own.
if [ "${1-}" = ssh ] && [ "${2-}" != inside ] && [ "$(id -u)" -eq 0 ] &&
    unshare --mount --net true 2>/dev/null; then
    exec unshare --mount --net "$0" ssh inside
fi
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"

# of COUNT [COMMAND]: the list of so many workers, which run on this machine.
of() {
    local k list=
    for ((k = 0; k < $1; k++)); do
        list+=${list:+,}${2:-$mailproof load -}
    done
    echo "$list"
}

dismiss() {
    [ -z "${pids[*]-}" ] || kill "${pids[@]}" 2>/dev/null || true
    wait
}
trap 'dismiss; rm -rf "$place"' EXIT
pids=()

metric() { # key
    number "$1" "$place/results/late-commits/latest/result.json"
}

# Prints the figures that the plan alone decides, and the number of values in the
# histogram of latencies.
figures() {
    echo "$(metric attempted) $(metric committed) $(metric rolled_back) $(metric expected)" \
        "$(metric delivered) $(metric lost) $(metric duplicated)" \
        "$(sed -n 's/.*Total count *= *\([0-9]*\).*/\1/p' \
            "$place"/results/late-commits/latest/latency*.hgrm | tr '\n' ' ')"
}

plan=(late-commits --set load.0.for=4s --set load.0.rate=100/s)

# begin WORKERS: begins a run of 20 s in the background, and waits until its collector has
# connected and its load has gone on for a while.
begin() {
    local left=1200
    rm -rf "$place/results"
    "$mailproof" run --quiet --out "$place/results" --set slack=30s --set drain=30s --set 'expect={}' late-commits \
        --set load.0.for=20s --set load.0.rate=50/s --workers "$1" >"$place/out" 2>&1 &
    harness=$!
    until grep -qs collecting "$place"/results/*/*/logs/collector-0.log; do
        left=$((left - 1))
        [ "$left" -gt 0 ] || fail "the run did not begin: $(cat "$place/out")"
        sleep 0.05
    done
    sleep 3
}

# ends_without WORKER COUNT: the run that was begun had COUNT workers; it must end without this one.
ends_without() {
    local got=0
    wait "$harness" || got=$?
    [ "$got" = 2 ] || fail "exit code $got instead of 2: $(cat "$place/out")"
    grep -q "1 of the workers was lost; worker $1 of $2" "$place/out" || fail "no word of it: $(cat "$place/out")"
    [ "$(metric unknown)" -gt 0 ] || fail "nothing is unknown"
    [ "$(metric lost)$(metric phantom)" = 00 ] || fail "what the worker took along is held against others"
}

several() {
    expect_exit 0 run "${plan[@]}" --workers "$(of 4)"
    [ "$(figures)" = "$alone" ] || fail "four workers: $(figures); one generator: $alone"
    [ ! -s "$place/err" ] || fail "the workers said: $(head -n 3 "$place/err")"
    # A worker is killed in the middle of the load, when it has committed something. The
    # others go on.
    begin "$(of 4)"
    kill -KILL "$(pgrep -P "$harness" -f 'load -$' | sed -n 2p)"
    ends_without "[1-4]" 4
}

# A closed loop takes no workers, and a worker is told by its command.
refusals() {
    expect_exit 64 run "${plan[@]}" --set load.0.rate=max --workers "$(of 1)"
    grep -q "a closed loop" "$place/err" || fail "no reason: $(cat "$place/err")"
    expect_exit 64 run "${plan[@]}" --workers "$(of 1),"
    grep -q "commas between" "$place/err" || fail "no reason: $(cat "$place/err")"
    expect_exit 64 run "${plan[@]}" --workers "$place/nothing load -"
    grep -q "cannot start $place/nothing" "$place/err" || fail "no reason: $(cat "$place/err")"
    expect_exit 64 run "${plan[@]}" --workers "echo hello"
    grep -q "worker 1 of 1 at echo hello: it is not a worker of this version" "$place/err" ||
        fail "no reason: $(cat "$place/err")"
    expect_exit 64 "$mailproof" load
    expect_exit 64 "$mailproof" load --listen 127.0.0.1:0
    ! find /tmp -maxdepth 1 -name 'mailproof-load.*' -newer "$place/bin" | grep . || fail "a worker left its folder"
}

# The run sends a recording's times, so a worker on another machine needs no file.
recordings() {
    mkdir "$place/mine"
    seq 0 0.05 1.9 >"$place/mine/times"
    printf 'name: recorded\nsummary: One of our own.\nload: [{for: 2s, arrivals: trace, file: times}]\n' \
        >"$place/mine/recorded.yaml"
    expect_exit 0 run "$place/mine/recorded.yaml" --workers "$(of 2)"
    [ "$(number attempted "$place/results/recorded/latest/result.json")" = 39 ] || fail "not all times were sent"
}

# speak CONNINFO FILE: says to a worker what a run says, with a plan that names FILE.
speak() {
    local yaml times=5
    yaml=$(printf 'name: foreign\nsummary: x.\nload: [{for: 9s, arrivals: trace, file: %s}]' "$2")
    printf 'file %d arrivals-load.csv\n%s\nfile %d scenario.yaml\n%splan 0/1 %s\n' 2 "$times" \
        "${#yaml}" "$yaml" "${3:-0}"
}

# A worker looks into no file that a plan names, writes none outside of its folder, and shows nothing
# of either.
a_worker_reads_no_files() {
    local name
    echo "secret-of-this-host" >"$place/secret"
    chmod 600 "$place/secret"
    for name in "$place/secret" ../../"$place/secret" x/../../secret; do
        speak none "$name" | "$mailproof" load - >"$place/said" 2>"$place/err" || true
        ! grep -q "secret-of-this-host" "$place/said" "$place/err" || fail "it shows a file: $(cat "$place/said")"
        grep -q "only name a file in its own folder" "$place/said" || fail "$name: $(cat "$place/said")"
    done
    printf 'file 3 ../../%s/planted\nabc' "$place" | "$mailproof" load - >"$place/said" 2>&1 || true
    [ ! -e "$place/planted" ] || fail "a run has written a file"
}

# A server that a run names gets no password of the worker's machine.
a_worker_gives_no_passwords() {
    mkdir -p "$place/home"
    echo '*:*:*:*:password-of-this-host' >"$place/home/.pgpass"
    chmod 600 "$place/home/.pgpass"
    printf '#!/bin/sh\ntee %s/dialog | %s load -\n' "$place" "$mailproof" >"$place/bin/tap"
    chmod +x "$place/bin/tap"
    expect_exit 0 run "${plan[@]}" --set load.0.for=1s --workers "$place/bin/tap"
    expect_exit 0 env HOME="$place/home" PGPASSWORD=password-of-this-host \
        python3 "$SOURCE_DIR/harness/tests/false_run.py" "$mailproof" "$place/dialog"
}

# --- by ssh -------------------------------------------------------------------------------

# The ssh of the system, with keys and known hosts of the test's own.
prepare_ssh() {
    mkdir "$place/bin"
    cp "$mailproof" "$place/bin/mailproof" # where every user can read it
    ssh-keygen -q -t ed25519 -N '' -f "$place/key"
    cat >"$place/ssh_config" <<END
IdentityFile $place/key
IdentitiesOnly yes
UserKnownHostsFile $place/known_hosts
GlobalKnownHostsFile none
StrictHostKeyChecking yes
BatchMode yes
ConnectTimeout 8
ServerAliveInterval 3
ServerAliveCountMax 2
END
    printf '#!/bin/sh\nexec %s -F %s "$@"\n' "$(command -v ssh)" "$place/ssh_config" >"$place/bin/ssh"
    chmod +x "$place/bin/ssh"
    export PATH=$place/bin:$PATH
    port=$((20000 + $$ % 1000 * 8))
}

# serve_ssh NAME ADDRESS COMMAND…: an sshd that the command starts; its port is in $port.
serve_ssh() {
    local name=$1 address=$2 left=1200
    shift 2
    port=$((port + 1))
    ssh-keygen -q -t ed25519 -N '' -f "$place/$name-host"
    chown "$user" "$place/$name-host"
    echo "[$address]:$port $(cut -d' ' -f1,2 "$place/$name-host.pub")" >>"$place/known_hosts"
    cat >"$place/$name.conf" <<END
ListenAddress $address
Port $port
HostKey $place/$name-host
AuthorizedKeysFile $place/key.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
END
    "$@" /usr/sbin/sshd -D -e -f "$place/$name.conf" >"$place/$name.log" 2>&1 &
    pids+=($!)
    until grep -qs "Server listening" "$place/$name.log"; do
        left=$((left - 1))
        [ "$left" -gt 0 ] || fail "no sshd: $(cat "$place/$name.log")"
        sleep 0.05
    done
}

# Another user's sshd on this machine. An ordinary user can only start one of their own.
near_machine() {
    user=$(id -un)
    local as=(env)
    if [ "$(id -u)" -eq 0 ]; then
        user=postgres
        as=(setpriv --reuid=postgres --regid="$(id -g postgres)" --clear-groups --)
    fi
    serve_ssh near 127.0.0.1 "${as[@]}"
    near="ssh -T -p $port $user@127.0.0.1 $place/bin/mailproof load -"
}

# Starts root's sshd on another machine. Its workers still reach our server, because the server's
# socket is a file.
far_machine() {
    ip link set lo up
    mount -t tmpfs run /run
    mkdir /run/sshd
    ip netns add far
    ip link add here type veth peer name there netns far
    ip address add 192.0.2.1/24 dev here
    ip link set here up
    ip -n far address add 192.0.2.2/24 dev there
    ip -n far link set there up
    user=root serve_ssh far 192.0.2.2 ip netns exec far
    far="ssh -T -p $port root@192.0.2.2 $place/bin/mailproof load -"
}

# refused WORKER REASON: a run with this worker as the second of two is refused.
refused() {
    expect_exit 70 run "${plan[@]}" --workers "$near,$1"
    grep -q "$2" "$place/err" || fail "$1: no reason: $(cat "$place/err")"
    grep -q "worker 2 of 2 at $1" "$place/err" || fail "not which: $(cat "$place/err")"
}

expect_no_workers() {
    local left=1200
    while pgrep -f "^$place/bin/mailproof load" >/dev/null; do
        left=$((left - 1))
        [ "$left" -gt 0 ] || fail "still sending: $(pgrep -af "^$place/bin/mailproof load")"
        sleep 0.05
    done
}

by_ssh() {
    local nobody=${near/$user@/nobody@} unknown=${near/127.0.0.1/localhost}
    expect_exit 0 run "${plan[@]}" --workers "$near,$near,${far:-$near}"
    [ "$(figures)" = "$alone" ] || fail "three by ssh: $(figures); one generator: $alone"
    refused "$nobody" "Permission denied"
    refused "$unknown" "Host key verification failed"
    refused "${near/bin\/mailproof/bin\/nothing}" "No such file"
    begin "$near,$near"
    # Kills the sshd process that serves one of the workers.
    kill -KILL "$(ps -o ppid= "$(pgrep -o -f "^$place/bin/mailproof load")" | tr -d ' ')"
    ends_without "[12]" 2
    expect_no_workers
}

# A worker that the run cannot reach any more stops sending, though ssh holds its connection.
cut_off() {
    begin "$near,$far"
    ip -n far link set there down
    ends_without 2 2
    expect_no_workers
}

expect_exit 0 run "${plan[@]}"
alone=$(figures)
if [ "${1-}" != ssh ]; then
    mkdir "$place/bin"
    a_worker_reads_no_files
    a_worker_gives_no_passwords
    recordings
    several
    refusals
else
    for program in /usr/sbin/sshd ssh ssh-keygen; do
        command -v "$program" >/dev/null ||
            { echo "skipped: $program is not installed (Debian: openssh-server)"; exit 77; }
    done
    prepare_ssh
    [ "${2-}" != inside ] || ! command -v ip >/dev/null || far_machine
    near_machine
    by_ssh
    [ -z "${far-}" ] || cut_off
    dismiss
fi
expect_nothing_left
