#!/usr/bin/env bash
# A run on an existing server, here one of the test's own, removes what it made and what a killed
# run left, and nothing that is kept.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=ci/private-server.sh
. "$SOURCE_DIR/ci/private-server.sh"
# shellcheck disable=SC2016 # for the end of the test
at_exit 'rm -rf "$place"'

start_server -c fsync=on
there=(--postgres "host=$PGHOST user=$PGUSER" --set load.0.for=1s)

ours() {
    psql -qAtc "SELECT datname FROM pg_database WHERE datname LIKE 'mailproof%' UNION ALL
        SELECT rolname FROM pg_roles WHERE rolname LIKE 'mailproof%' OR rolname IN ('mailroom_collector', 'mailroom_owner')"
}

# sessions TEST: waits until the number of sessions of the run's roles passes a test such
# as -gt 3.
sessions() {
    local left=600
    until test "$(psql -qAtc "SELECT count(*) FROM pg_stat_activity WHERE usename LIKE 'mailproof%'")" "$@"; do
        left=$((left - 1))
        [ "$left" -gt 0 ] || fail "no session count $*: $(cat "$place/killed")"
        sleep 0.05
    done
}

# A killed run leaves its database and roles.
"$mailproof" run --quiet --out "$place/results" "${there[@]}" --set load.0.for=60s steady \
    >"$place/killed" 2>&1 &
harness=$!
sessions -gt 3
kill -KILL "$harness"
wait "$harness" 2>/dev/null || true
sessions -eq 0
left=$(ours | grep '^mailproof_[0-9a-f]*$')

# The next run removes these, and keeps its own database.
keep steady "${there[@]}" --set 'faults=[{at: 200ms, do: hold-horizon, database: other, for: 300ms}]'
grep -q 'declared, not proved' "$place/out" || fail "durability is not said to be declared"
kept=$(sed -n 's/^The database \(.*\) is left on the server\.$/\1/p' "$place/out")
! ours | grep -qx "$left" || fail "the killed run's $left is still there"
! ours | grep -qx mailproof_other || fail "the fault's database is kept as well"
tokens=$(psql -d "$kept" -qAtc 'SELECT count(*) FROM tokens')
[ "$tokens" -gt 0 ] || fail "the kept database has no tokens"

# The run after that does not touch the kept database, and leaves nothing of its own.
expect_exit 0 run steady "${there[@]}"
[ "$(psql -d "$kept" -qAtc 'SELECT count(*) FROM tokens')" = "$tokens" ] || fail "the kept database is gone"
[ "$(ours | grep -cE '^mailproof_[0-9a-f]{8}$')" = 1 ] || fail "left behind: $(ours)"

# A collector that writes nothing proves nothing, with or without cuts. Its result folder
# is complete although there is no log.
expect_exit 2 run every-cut --every-cut --postgres "host=$PGHOST user=$PGUSER" \
    --collector 'sleep 600' --set recovery_limit=100ms --junit "$place/junit.xml"
grep -q '^  reason      without any cut the collector wrote nothing' "$place/out" || fail "no reason"
grep -q '<testsuite name="every-cut" tests="2" failures="0" errors="1" ' "$place/junit.xml" ||
    fail "junit.xml convicts a collector that wrote nothing"
for file in scenario.yaml cuts.csv logs; do
    [ -e "$place/results/every-cut/latest/$file" ] || fail "every-cut's $file is gone"
done

# The removal commands that the run prints remove everything: also the role that the
# killed run's migration made.
IFS=';' read -ra statements <<<"$remove"
for statement in "${statements[@]}"; do psql -qc "$statement" 2>/dev/null; done
[ -z "$(ours)" ] || fail "left behind: $(ours)"

# On a managed database these rights are enough, whatever the role is called. Scenarios that need
# more are skipped by name.
psql -qc "CREATE ROLE mailproof_ci LOGIN CREATEDB CREATEROLE; CREATE ROLE poor LOGIN"
for scenario in steady jobs-locked backend-kill-storm; do
    case $scenario in
    steady) few=(--set load.0.for=1s) ;;
    jobs-locked) few=() ;;
    *) few=(--set load.0.for=4s
        --set 'faults=[{at: 500ms, every: 1s, until: 3s, do: terminate-backend, target: collector}]') ;;
    esac
    # These are about rights; a low rate suits a busy machine, too.
    expect_exit 0 run "$scenario" --postgres "host=$PGHOST user=mailproof_ci dbname=postgres" \
        --set load.0.rate=20/s "${few[@]}"
done
expect_exit 77 run server-crash --postgres "host=$PGHOST user=mailproof_ci dbname=postgres"
grep -q 'kill-server needs a server that the harness controls' "$place/out" || fail "no reason"
expect_exit 77 run steady --postgres "host=$PGHOST user=poor dbname=postgres" --set load.0.for=1s
grep -q 'may not make databases and roles' "$place/out" || fail "no reason: $(cat "$place/out")"
# A server that lets in only whom it knows says so before the load.
sed -i '1i local all mailproof_load reject' "$server_dir/data/pg_hba.conf"
psql -qAtc "SELECT pg_reload_conf()" >/dev/null
expect_exit 70 run steady "${there[@]}"
grep -q 'pg_hba.conf must let mailproof_load log in' "$place/err" || fail "no reason: $(cat "$place/err")"
sed -i 1d "$server_dir/data/pg_hba.conf"
psql -qAtc "SELECT pg_reload_conf()" >/dev/null
psql -qc "DROP ROLE mailproof_ci; DROP ROLE poor"
[ -z "$(ours)" ] || fail "left behind: $(ours)"

# A scenario that needs a server of the harness's own is refused before anything starts.
expect_exit 77 run server-crash --postgres "host=$PGHOST user=$PGUSER"
grep -q 'needs a server that the harness controls, and not one of yours (provider: url)' "$place/out" || fail "no reason"
[ -z "$(ours)" ] || fail "left behind: $(ours)"
