#!/usr/bin/env bash
# What the shell has set reaches neither the subject nor the run's own sessions. libpq's variables
# lead to a server of somebody else, which sees no session and keeps its tables. Tokens and passwords
# are in no file that a run leaves. A collector and a queue of another kind get only what they need.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=ci/private-server.sh
. "$SOURCE_DIR/ci/private-server.sh"
# shellcheck disable=SC2016 # for the end of the test
at_exit 'rm -rf "$place"'

# The server of somebody else, and all variables that lead there.
set_traps() {
    start_server -c log_connections=on -c log_statement=all
    psql -qc 'CREATE TABLE marker ()'
    printf '[trap]\nhost=%s\nport=5432\nuser=postgres\n' "$PGHOST" >"$place/services"
    echo '*:*:*:*:trapped-password' >"$place/passwords"
    chmod 644 "$place/passwords" # libpq warns when it looks into a file that others may read
    there=$PGHOST log=$server_dir/server.log
    from=$(wc -c <"$log")
    traps=(PGSERVICE=trap PGSERVICEFILE="$place/services" PGHOST="$there" PGPORT=5432
        PGUSER=postgres PGDATABASE=postgres PGPASSWORD=trapped-password
        PGPASSFILE="$place/passwords" PGOPTIONS='-c trapped.option=1' PGTARGETSESSIONATTRS=any
        PGSSLMODE=disable PGAPPNAME=trapped-name PGTZ=Mars/Trapped PGCONNECT_TIMEOUT=60)
    secrets=(GITHUB_TOKEN=trapped-token CONNINFO='host=db password=trapped-password'
        MAILROOM_ATTEMPTS=trapped-setting LD_LIBRARY_PATH=/trapped-folder)
}

# Prints its environment into its log before it becomes the reference collector.
write_nosy_collector() {
    printf '#!/bin/sh\nenv | sort >&2\nexec %s\n' "$BUILD_DIR/bin/mailroom-collector" >"$place/nosy"
    chmod 755 "$place/nosy"
}

trapped() { env "${traps[@]}" "${secrets[@]}" "$@"; }

untouched() {
    local saw tables
    saw=$(tail -c +$((from + 1)) "$log" | grep 'connection \(received\|authorized\)' || true)
    [ -z "$saw" ] || fail "$1: the server of somebody else saw: $saw"
    tables=$(psql -qAtc "SELECT string_agg(relname, ',') FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace")
    [ "$tables" = marker ] || fail "$1: it has the tables $tables"
    from=$(wc -c <"$log")
    left=$(grep -rl 'trapped' "$place/results" || true)
    [ -z "$left" ] || fail "$1: what the shell had set is in $(grep -r trapped "$place/results" | head -n 3)"
    ! grep -q 'password file' "$place/err" || fail "$1: $(cat "$place/err")"
}

# given NAME…: these variables, and no others, are in the log of the collector.
given() {
    local want got
    want=$(printf '%s\n' "$@" | sort)
    # A shell sets PWD, OLDPWD, SHLVL and _ by itself.
    got=$(sed -n 's/^\([A-Z_]*\)=.*/\1/p' "$place"/results/steady/latest/logs/collector-0.log |
        grep -vxE 'PWD|OLDPWD|SHLVL|_' | sort -u)
    [ "$got" = "$want" ] || fail "the collector was given: $(diff <(echo "$want") <(echo "$got"))"
}

# No password is an argument, which every user of the machine can read in /proc. An engine that notes
# its arguments, and what it finds in its environment, stands for podman.
no_password_is_an_argument() {
    local password
    cat >"$place/engine" <<END
#!/bin/sh
echo "\$*" >>"$place/arguments"
[ "\$1" != run ] || { echo "\$POSTGRES_PASSWORD" >"$place/password"; exit 1; }
END
    chmod 755 "$place/engine"
    expect_exit 70 env MAILPROOF_CONTAINER_ENGINE="$place/engine" "$mailproof" run --quiet \
        --out "$place/results" steady --postgres container
    password=$(cat "$place/password")
    [ "${#password}" = 32 ] || fail "the engine got no password: '$password'"
    ! grep -q "$password" "$place/arguments" || fail "a password is an argument: $(grep "$password" "$place/arguments")"
    ! grep -q "${password:0:8}" "$place/arguments" || fail "a part of the password is a name"
}

# A conninfo with a password can come in a variable. The database's name is no part of a password.
a_conninfo_comes_in_a_variable() {
    printf '#!/bin/sh\necho "$PGPASSWORD $PGDATABASE" >"%s"\nexec sleep 600\n' "$place/given" >"$place/tells"
    chmod 755 "$place/tells"
    expect_exit 1 env THERE="host=$PGHOST user=$PGUSER password=trapped-password" "$mailproof" run \
        --quiet --out "$place/results" "${short[@]}" --set drain=1s --set postgres.durability=waive \
        steady --postgres env:THERE --collector "$place/tells"
    read -r password database <"$place/given"
    case $database in
    mailproof_????????) ;;
    *) fail "the database is '$database'" ;;
    esac
    [ "${database#mailproof_}" != "${password:0:8}" ] || fail "the database's name is a part of the password"
    ! grep -rq trapped-password "$place/results" || fail "the password is in the results"
    # The server logs statements, and its log is read by more people than its tables.
    grep -q 'ALTER ROLE mailproof_collector' "$log" || fail "the server logged no role"
    ! grep -q "$password" "$log" || fail "the server's log has a password"
    expect_exit 64 "$mailproof" run steady --postgres env:NOT_THERE
    grep -q 'NOT_THERE is not set' "$place/err" || fail "no reason: $(cat "$place/err")"
    rm -rf "$place/results"
}

short=(--set load.0.for=1s --set load.0.rate=20/s)
base=(PATH HOME LANG TZ TMPDIR)
[ -z "${SANITIZE-}" ] || base+=(ASAN_OPTIONS)
export LANG=C.UTF-8 TZ=UTC TMPDIR=/tmp ASAN_OPTIONS=${ASAN_OPTIONS-detect_leaks=1}
# The nosy collector logs its environment, with the key.
logs_key=(--set 'allow={tells_secrets: any}')

main() {
    set_traps
    write_nosy_collector

    expect_exit 0 trapped "$mailproof" run --quiet --out "$place/results" --set slack=30s --set drain=30s \
        --set 'expect={}' "${leak[@]}" "${short[@]}" steady --collector "$place/nosy" \
        "${logs_key[@]}" --set collector.layout=reference
    untouched "a collector"
    given "${base[@]}" MAILPROOF_PROCESS MAILROOM_DATABASE_URL MAILROOM_SECRET_KEY MAILROOM_BATCH_LIMIT \
        MAILROOM_BATCH_TIMEOUT PGHOST PGPORT PGUSER PGDATABASE
    rm -rf "$place/results"

    expect_exit 0 trapped "$mailproof" run --quiet --out "$place/results" --set slack=30s --set drain=30s \
        --set 'expect={}' "${short[@]}" steady --subject textbook
    untouched "a queue"
    rm -rf "$place/results"

    # The user passes what a collector needs beyond that, by name.
    expect_exit 0 env LICENCE=for-one-user OTHER=unasked "$mailproof" run --quiet \
        --out "$place/results" --set slack=30s --set drain=30s --set 'expect={}' "${leak[@]}" "${short[@]}" steady \
        --collector "$place/nosy" "${logs_key[@]}" --set collector.layout=reference \
        --pass-env LICENCE --pass-env ABSENT
    given "${base[@]}" MAILPROOF_PROCESS MAILROOM_DATABASE_URL MAILROOM_SECRET_KEY MAILROOM_BATCH_LIMIT \
        MAILROOM_BATCH_TIMEOUT PGHOST PGPORT PGUSER PGDATABASE LICENCE
    expect_exit 64 "$mailproof" run steady --pass-env A=B
    grep -q 'the name of a variable' "$place/err" || fail "no reason: $(cat "$place/err")"
    rm -rf "$place/results"
    no_password_is_an_argument
    a_conninfo_comes_in_a_variable
    expect_nothing_left
}

main
