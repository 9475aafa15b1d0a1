#!/usr/bin/env bash
# With --as the subject runs as another user, who passes as before, but cannot change the results,
# read the key of the mark, gain rights, or log in as the server's superuser, neither at its socket
# nor through the proxy.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"

[ "$(id -u)" -eq 0 ] || { echo "skipped: only root can run a program as another user"; exit 77; }
id postgres >/dev/null 2>&1 || { echo "skipped: the servers would run as the only other user"; exit 77; }
export XDG_STATE_HOME=$place/state

# The programs lie where the other user can reach them; nothing else of the place can be reached.
chmod 711 "$place"
cp "$BUILD_DIR/bin/mailroom-collector" "$place/"
cat >"$place/nosy" <<'NOSY'
#!/bin/bash
{
    echo "user $(id -un) groups $(id -Gn) home $HOME"
    grep NoNewPrivs /proc/self/status
    for name in state/mailproof/mark-key results; do
        ls -d "PLACE/$name" >/dev/null 2>&1 && cat "PLACE/$name" >/dev/null 2>&1 && echo "can read $name"
    done
    touch PLACE/results/new 2>/dev/null && echo "can write results"
    psql -d mailroom -U mailproof -qAtc "SELECT 'is superuser'" 2>&1 | sed 's/^/psql: /'
    psql -d mailroom -qAtc "SELECT 'is ' || current_user" 2>&1 | sed 's/^/psql: /'
} >&2
exec PLACE/mailroom-collector
NOSY
sed -i "s|PLACE|$place|" "$place/nosy"
chmod 755 "$place/nosy" "$place/mailroom-collector"

said() { # what the collector of the last run said about itself
    sed -n '/^user /,/^20/p' "$place"/results/*/latest/logs/collector-0.log
}

# run_as SCENARIO OPTION…: a run whose subject is nobody's.
run_as() {
    rm -rf "$place/results"
    expect_exit 0 run "$@" --as nobody --collector "$place/nosy" --set collector.layout=reference --set load.0.for=1s --set load.0.rate=20/s
    grep -q '^user nobody groups nogroup home /nonexistent' <(said) || fail "it ran as: $(said)"
    grep -q 'NoNewPrivs:.*1' <(said) || fail "it can gain rights: $(said)"
    ! grep -q ' can ' <(said) || fail "$(said)"
    grep -q 'psql: is mailproof_collector' <(said) || fail "it cannot even be itself: $(said)"
    ! grep -q 'is superuser' <(said) || fail "it is a superuser: $(said)"
}

expect_exit 0 run steady --set load.0.for=1s # makes the key of the mark
run_as steady
grep -q 'Peer authentication failed' <(said) || fail "what refused it? $(said)"
# A scenario whose collector is led through the proxy.
run_as steady --set "faults=[{do: reset, at: 500ms}]"
grep -q 'server closed the connection' <(said) || fail "what refused it? $(said)"
# A network of its own.
run_as steady --set "faults=[{do: partition, at: 300ms, for: 300ms, through: kernel}]"
# The harness itself may be any role of the run.
run_as steady --set "faults=[{do: exhaust-connections, at: 200ms, for: 4s}]" --set postgres.settings.max_connections=20 --set load.0.connections=2
# The subject reaches a cluster's proxy, too, and not its members' sockets.
if { command -v patroni && command -v etcd && command -v haproxy; } >/dev/null; then
    run_as steady --postgres patroni --set postgres.standby=async --set postgres.route=proxy
    expect_exit 64 run steady --as postgres --postgres patroni --set postgres.standby=async
fi
# Nobody else may connect, although everybody can reach the socket.
keep steady --as nobody --collector "$place/mailroom-collector" --set collector.layout=reference
reach=$(sed -n "s/^  reach it:  psql '\(.*\)'$/\1/p" "$place/out")
for role in mailproof_collector mailproof_load mailproof; do
    as=$(setpriv --reuid=daemon --regid=daemon --clear-groups psql "$reach user=$role" -c '' 2>&1) &&
        fail "another user is $role"
    [[ $as == *'Peer authentication failed'* ]] || fail "what refused $role? $as"
done
bash -c "$remove"
# The user is not kept in a shard's record: a merge makes no run, and needs no root.
expect_exit 77 "$mailproof" run steady --skip steady --as nobody --shard 1/1 --out "$place/dealt"
! grep -q -- '--as' "$place"/dealt/shard-1-of-1/run-*/record.jsonl || fail "a merge would need root"
expect_exit 64 run steady --as root
expect_exit 64 run steady --as no-such-user
expect_exit 64 run steady --as postgres
expect_nothing_left
echo "the subject has the rights of nobody"
