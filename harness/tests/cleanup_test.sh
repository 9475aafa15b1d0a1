#!/usr/bin/env bash
# A run leaves no process and no file behind. It ends here in several ways: after Ctrl-C,
# even while the server stands still; after TERM; when the harness itself was killed, in
# which case the next run tidies up; and when the server cannot start.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"

# wait_for SECONDS COMMAND…: repeats the command until it succeeds.
wait_for() {
    local left=$(($1 * 20))
    shift
    until "$@" 2>/dev/null; do
        left=$((left - 1))
        [ "$left" -gt 0 ] || fail "waited in vain for: $*"
        sleep 0.05
    done
}

collector_runs() {
    pgrep -f "postgres: mailproof_collector .*" >/dev/null &&
        [ -n "$(find "$place/results" -name 'collector-0.log' -size +0 2>/dev/null)" ]
}

# True when a server of ours has a backend of the load.
load_runs() {
    local pid
    for pid in $(pgrep -f "postgres -D $place/"); do
        ! pgrep -P "$pid" -f "postgres: mailproof_load .*" >/dev/null || return 0
    done
    return 1
}

# True when a postmaster of ours has stood still long enough for a query to wait for its server.
server_stands_still() {
    local pid
    for pid in $(pgrep -f "postgres -D $place/"); do
        ! grep -q '^State:.T' "/proc/$pid/status" || { sleep 0.3; return 0; }
    done
    return 1
}

# interrupted SIGNAL CODE [SCENARIO [COMMAND]]: runs the scenario, sends the signal once the command
# succeeds, and checks the exit code.
interrupted() {
    local pid got=0
    rm -rf "$place/results"
    "$mailproof" run --out "$place/results" "${3-steady}" >"$place/out" 2>"$place/err" &
    pid=$!
    wait_for 60 "${4-collector_runs}"
    kill "-$1" "$pid"
    wait "$pid" || got=$?
    [ "$got" = "$2" ] || fail "exit code $got after SIG$1"
}

# The interrupted run is judged by what it had sent, and says that it is partial.
expect_judged_in_part() {
    grep -q '"interrupted": true' "$place/results/steady/latest/result.json" &&
        grep -q '^steady: inconclusive' "$place/out" &&
        grep -q 'because *interrupted at .* of .*: load and faults ended there' "$place/out" &&
        grep -q 'the load ends here' "$place/err" || fail "not judged in part"
    "$mailproof" check "$place/results/steady/latest" >"$place/out" && fail "check passes it"
    grep -q 'interrupted at' "$place/out" || fail "check does not say that it was interrupted"
}

# twice SIGNAL CODE: sends the signal to a run, and again when the first one was noticed.
twice() {
    local pid got=0
    rm -rf "$place/results"
    "$mailproof" run --out "$place/results" steady --set drain=1h \
        --set 'faults=[{at: 100ms, do: pause-collector, for: 1h}]' \
        >"$place/out" 2>"$place/err" &
    pid=$!
    wait_for 60 load_runs
    kill "-$1" "$pid"
    wait_for 60 grep -q 'once more to stop at once' "$place/err"
    kill "-$1" "$pid"
    wait "$pid" || got=$?
    [ "$got" = "$2" ] || fail "exit code $got after SIG$1 twice"
    ! [ -s "$place/out" ] || fail "a verdict after SIG$1 twice"
}

expect_gone() {
    ! pgrep -f "$place" >/dev/null
}

interrupted INT 130
expect_nothing_left
interrupted INT 130 steady load_runs
expect_judged_in_part
expect_nothing_left
interrupted TERM 143 steady load_runs
expect_judged_in_part
expect_nothing_left
# A second signal ends the wait for the last tokens, which nobody reads here.
twice INT 130
expect_nothing_left
# The whole server stands still, with a query of ours under way.
interrupted INT 130 server-pauses server_stands_still
expect_nothing_left

# SIGKILL cannot be handled. So the kernel ends the processes, and the next run removes
# the folder and nothing that is not ours.
interrupted KILL 137
[ -n "$(find "$place/tmp" -mindepth 1 -maxdepth 1)" ] || fail "the killed run had no folder"
mkdir "$place/tmp/somebody.else"
expect_exit 0 run steady --set load.0.for=1s
rmdir "$place/tmp/somebody.else" || fail "a stranger's folder was touched"
wait_for 30 expect_gone
expect_nothing_left

# When a server does not start, the run prints the server's own reason.
expect_exit 64 run steady --set 'postgres.settings.shared_buffers=lots'
grep -q 'invalid value for parameter "shared_buffers"' "$place/err" || fail "no reason"
expect_nothing_left

# --keep leaves a server that can be reached and removed as the output says. The server
# has no standby left, so its commits must not wait for one.
reach_it() {
    sed -n "s/^  reach it:  psql '\(.*\)'$/\1/p" "$place/out"
}
keep steady --set postgres.standby=sync
reach=$(reach_it)
remove_first=$remove
[ "$(psql "$reach" -Atc 'SELECT count(*) > 0 FROM tokens')" = t ] || fail "the kept server has no tokens"
timeout 60 psql "$reach" -qc 'CREATE TABLE mine ()' || fail "the kept server's commits wait"

# The next run does not touch the kept server. It has --keep, too: after its failover it keeps the
# promoted server.
keep failover-sync --set faults.0.at=500ms
[ "$(psql "$(reach_it)" -Atc 'SELECT count(*) > 0 FROM tokens')" = t ] || fail "the promoted server was not kept"
[ "$(psql "$reach" -Atc 'SELECT count(*) FROM mine')" = 0 ] || fail "the next run took the kept server away"
# A run with --postgres uses the first kept server, and removes what a killed run has left on it.
reach="${reach% dbname=*} dbname=postgres"
psql "$reach" -qc 'DROP DATABASE mailroom' -c 'CREATE DATABASE mailproof_0123abcd'
psql "$reach dbname=mailproof_0123abcd" -qc BEGIN -c 'SELECT pg_current_xact_id()' \
    -c "PREPARE TRANSACTION 'mailproof-1'" >"$place/out"
expect_exit 0 run steady --set load.0.for=1s --postgres "$reach"
[ "$(psql "$reach" -Atc "SELECT (SELECT count(*) FROM pg_prepared_xacts), count(*) FROM pg_database
    WHERE datname LIKE 'mailproof%'")" = '0|0' ] || fail "what a killed run left is still on the server"
bash -c "$remove_first"
bash -c "$remove"
wait_for 30 expect_gone
expect_nothing_left
