#!/usr/bin/env bash
# A cluster that fails over. The scenarios with the tag ha pass. A server that loses what
# it acknowledged is convicted unless the scenario allows that. Nothing of a cluster is
# left after its run.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"

# The test checks this from outside, so that a broken harness does not excuse itself.
for program in patroni etcd haproxy; do
    PATH=$PATH:/usr/sbin command -v "$program" >/dev/null ||
        { echo "skipped: $program is not installed (Debian: patroni, etcd-server, haproxy)"; exit 77; }
done
namespaces=no
[ "$(id -u)" -ne 0 ] || ! command -v nft >/dev/null ||
    ! unshare --net sh -c 'ip link add type veth && ip link add type bridge' 2>/dev/null || namespaces=yes

metric() { # scenario, key
    number "$2" "$place/results/$1/latest/result.json"
}

expect_gone() {
    local left=1200
    while pgrep -f "$place/tmp" >/dev/null; do
        left=$((left - 1))
        [ "$left" -gt 0 ] || fail "still running: $(pgrep -af "$place/tmp")"
        sleep 0.05
    done
}

# start_run: starts a run in the background and waits until its collector has connected.
start_run() {
    rm -rf "$place/results"
    "$mailproof" run --quiet --out "$place/results" switchover-sync >"$place/out" 2>"$place/err" &
    harness=$!
    local left=2400
    until grep -qs collecting "$place"/results/*/*/logs/collector-0.log; do
        left=$((left - 1))
        [ "$left" -gt 0 ] || fail "the cluster did not come: $(cat "$place/err")"
        sleep 0.05
    done
}

# segments PID…: prints how many segments of shared memory these processes have made and left.
segments() {
    awk -v pids=" $* " 'index(pids, " " $5 " ") { n++ } END { print n + 0 }' /proc/sysvipc/shm
}

every_scenario() {
    expect_exit 0 run "$SOURCE_DIR/scenarios" --tag ha
    [ "$namespaces" = yes ] || return 0
    [ "$(metric leader-partitioned-sync vanished)" = 0 ] || fail "a synchronous cluster lost"
    [ "$(metric leader-partitioned-async vanished)" -gt 0 ] ||
        fail "the old leader's clients lost nothing, so that the run proves nothing"
    # A loss of the server is tolerated only where the scenario says so.
    expect_exit 1 run leader-partitioned-async --set 'allow={}'
    expect_nothing_left
}

# A scenario that needs a cluster is skipped on a single server, and one that needs a single server
# is skipped on a cluster.
skips() {
    expect_exit 77 run switchover-sync --postgres local
    grep -q "switchover needs provider: patroni" "$place/out" || fail "no reason"
    expect_exit 77 run server-crash --postgres patroni
    grep -q "kill-server cannot be done to a server of provider: patroni" "$place/out" || fail "no reason"
}

interrupted() {
    start_run
    kill -INT "$harness"
    wait "$harness" && fail "an interrupted run succeeded"
    expect_nothing_left
}

# The kernel ends the leashes, and each leash ends all processes on it. The next run removes the
# folder and the servers' shared memory.
killed() {
    local servers
    start_run
    servers=$(head -qn 1 "$place"/tmp/*/run/m?/postmaster.pid | tr '\n' ' ')
    # shellcheck disable=SC2086 # they are words
    [ "$(segments $servers)" = 3 ] || fail "no shared memory to look for: $servers"
    kill -KILL "$harness"
    wait "$harness" || true
    expect_gone
    expect_exit 0 run steady --set load.0.for=1s --set load.0.rate=20/s
    expect_nothing_left
    # shellcheck disable=SC2086 # they are words
    [ "$(segments $servers)" = 0 ] || fail "shared memory was left behind"
}

# What is in the store becomes settings of the servers, and a setting may name a library to load.
strangers_are_refused() {
    local files store answer
    files=("$place"/tmp/mailproof.*/m1.yml)
    store=$(tr -d ' \n' <"${files[0]}" | sed 's/.*"etcd3":{"host":"\([^"]*\)".*/\1/')
    # Base64 of the key /service/mailproof/config, and of {}.
    answer=$(python3 -c 'import http.client, sys
c = http.client.HTTPConnection(sys.argv[1], timeout=30)
c.request("POST", "/v3/kv/put", sys.argv[2])
print(c.getresponse().read().decode())' "$store" \
        '{"key": "L3NlcnZpY2UvbWFpbHByb29mL2NvbmZpZw==", "value": "e30="}') || fail "no store at $store"
    [[ $answer == *"user name is empty"* ]] || fail "the store lets everybody in: $answer"
    [ "$(stat -c '%U %a' "${files[0]}")" = "$(stat -c %U "${files[0]%/*}/run") 600" ] ||
        fail "others can read the passwords: $(ls -l "${files[0]}")"
}

kept() {
    keep switchover-sync --set 'faults=[]'
    local reach
    reach=$(sed -n "s/^  reach it:  psql '\(.*\)'$/\1/p" "$place/out")
    [ "$(psql -AtX "$reach" -c 'SELECT count(*) > 0 FROM tokens')" = t ] || fail "not to be reached"
    strangers_are_refused
    sh -c "$remove" || fail "not to be removed: $remove"
    expect_nothing_left
}

# A cluster that belongs to somebody else: only a conninfo and the REST addresses are known.
yours() {
    local folder rests ports password there
    keep switchover-sync --set 'faults=[]'
    trap 'sh -c "$remove"; rm -rf "$place"' EXIT
    folder=$(echo "$place"/tmp/mailproof.*)
    # The first address in each file is Patroni's own, the second the server's.
    rests=$(for m in 1 2 3; do sed -n 's/.*"connect_address": "\(.*\)".*/\1/p' "$folder/m$m.yml" | head -n 1; done | paste -sd,)
    ports=$(for m in 1 2 3; do sed -n 's/.*"connect_address": ".*:\(.*\)".*/\1/p' "$folder/m$m.yml" | tail -n 1; done | paste -sd,)
    password=$(sed -n 's/.*"password": "\(.*\)".*/\1/p' "$folder/m1.yml" | tail -n 1)
    there=(--postgres "host=127.0.0.1,127.0.0.1,127.0.0.1 port=$ports user=mailproof password=$password dbname=postgres")
    for scenario in switchover-sync leader-killed-sync; do
        expect_exit 77 run "$scenario" "${there[@]}"
        grep -q "or postgres.rest for a cluster of yours" "$place/out" || fail "no reason: $(cat "$place/out")"
    done
    there+=(--set "postgres.rest=$rests")
    export MAILPROOF_REST_AUTH=mailproof:$password
    expect_exit 0 run switchover-sync "${there[@]}"
    grep -q "stepped down; m[123] takes writes on timeline" \
        "$place/results/switchover-sync/latest/result.json" || fail "no evidence of a switchover"
    ! grep -rq "$password" "$place/results/switchover-sync/latest" || fail "the password is in the results"
    expect_exit 77 run leader-killed-sync "${there[@]}"
    grep -q "kill-leader ends or cuts off" "$place/out" || fail "no reason: $(cat "$place/out")"
    unset MAILPROOF_REST_AUTH
    trap 'rm -rf "$place"' EXIT
    sh -c "$remove" || fail "not to be removed: $remove"
    expect_nothing_left
}

case ${1-} in
all) every_scenario ;;
*)
    skips
    interrupted
    killed
    kept
    yours
    ;;
esac
