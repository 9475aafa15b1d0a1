# shellcheck shell=sh
# Gives a script a PostgreSQL of its own. Sourced, not run:
#
#   . "$SOURCE_DIR/ci/private-server.sh"
#   at_exit 'kill "$collector"'        # optional; the last one runs first
#   start_server                       # or: start_server -c fsync=on
#   psql -c 'SELECT 1'                 # PGHOST, PGUSER and PGDATABASE are set
#   crash_server; resume_server        # SIGKILL to all of it, then recovery
#
# The server listens on a socket inside its own folder and on nothing else, so
# any number of them run side by side. However the script ends, short of
# SIGKILL, its server is stopped and its folder removed. Where no PostgreSQL is
# installed the script ends with 77, which ctest takes for "skipped".

server_dir=
server_pid=
server_commands=
server_session=
server_psql=
server_mark=--mailproof--
server_newline='
'

# Runs a command when the script ends, before the server is stopped.
at_exit()
{
    server_commands="$1; $server_commands"
}

# shellcheck disable=SC2120 # the settings may be left out
start_server()
{
    # The caller's own PostgreSQL settings must not lead to another server.
    unset PGSERVICE PGPORT PGPASSWORD PGOPTIONS PGSSLMODE PGTZ PGCLIENTENCODING
    server_bindir=$(find_server_bindir) || {
        echo "skipped: no PostgreSQL server here (set PG_BINDIR to the folder of initdb)"
        exit 77
    }
    # Takes the psql of this server, because Debian's /usr/bin/psql is a Perl script that looks for a
    # version first, each time.
    [ ! -x "$server_bindir/psql" ] || PATH=$server_bindir:$PATH
    trap server_cleanup EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 141' PIPE # a reader that leaves must not leave the server behind
    trap 'exit 143' TERM
    # Not /tmp: that may be memory. Not the build folder: a socket's path has
    # to stay under 107 bytes, and another user must be able to reach it.
    server_dir=$(mktemp -d /var/tmp/mailproof-test.XXXXXX) || exit 70
    # The data directory lies apart from others on the disk: see harness/os/block_group.h.
    chattr +T "$server_dir" 2>/dev/null || true
    server_fresh=$(mktemp -d "$server_dir/XXXXXX") && mv "$server_fresh" "$server_dir/data" || exit 70
    if [ "$(id -u)" -eq 0 ]; then
        chown "$(server_user):" "$server_dir" "$server_dir/data"
    fi
    export PGHOST="$server_dir" PGUSER=postgres PGDATABASE=postgres PGCONNECT_TIMEOUT=60
    if [ -n "${BUILD_DIR:-}" ]; then copy_cluster; else new_cluster; fi || exit 70
    server_settings="$*"
    resume_server
}

# Makes a cluster in $server_dir/data.
new_cluster()
{
    (exec_as_server_user "$server_bindir/initdb" --pgdata="$server_dir/data" \
        --username=postgres --auth=trust --encoding=UTF8 --locale=C --no-sync) \
        >"$server_dir/initdb.log" 2>&1 || {
        cat "$server_dir/initdb.log"
        return 1
    }
    # From PostgreSQL 15 on this is so from the start.
    [ "$("$server_bindir/postgres" -V | sed 's/^[^0-9]*\([0-9]*\).*/\1/')" -ge 15 ] ||
        for server_database in template0 template1 postgres; do
            echo 'REVOKE CREATE ON SCHEMA public FROM PUBLIC' | exec_as_server_user \
                "$server_bindir/postgres" --single -D "$server_dir/data" "$server_database"
        done >>"$server_dir/initdb.log" 2>&1 || return 1
}

# The same, with a copy of a cluster that the build folder keeps: initdb needs eight times as much
# of the processor. All copies have one system identifier.
copy_cluster()
{
    server_kept=$BUILD_DIR/test-cluster.$(id -u).$("$server_bindir/postgres" -V | tr -cd 0-9.)
    (
        flock 9
        [ ! -d "$server_kept" ] || exit 0
        rm -rf "$server_kept.new"
        new_cluster && cp -a "$server_dir/data" "$server_kept.new" &&
            mv "$server_kept.new" "$server_kept" && rm -rf "$server_dir/data"/*
    ) 9>"$server_kept.lock" && cp -a "$server_kept/." "$server_dir/data"
}

# Starts the server again in the folder that it had.
resume_server()
{
    # The settings are words without spaces, and are meant to be split, as are the variables that a
    # test adds to the environment. fsync is off, because no power is cut in a unit test. Shared
    # memory lies in the data directory, so that what a killed server leaves goes with it.
    # shellcheck disable=SC2086
    (exec_as_server_user env ${server_env-} "$server_bindir/postgres" -D "$server_dir/data" \
        -k "$server_dir" -c listen_addresses= -c fsync=off -c shared_buffers=32MB \
        -c dynamic_shared_memory_type=mmap $server_settings) \
        >>"$server_dir/server.log" 2>&1 </dev/null &
    server_pid=$!
    server_deadline=$(($(date +%s) + 60))
    until psql -qAtc 'SELECT 1' >/dev/null 2>&1; do
        if ! kill -0 "$server_pid" 2>/dev/null || [ "$(date +%s)" -gt "$server_deadline" ]; then
            echo "the test's PostgreSQL did not start:"
            tail -n 20 "$server_dir/server.log"
            exit 70
        fi
        sleep 0.05
    done
    [ -z "$server_psql" ] || open_server_session || true
}

# Asks the server every 50 ms until the answer is t. Fails after 60 seconds.
server_says_true() # query
{
    server_looks=0 server_had=$server_session
    until server_ask "SELECT ($1)" 2>/dev/null && [ "$server_answer" = "t$server_newline" ]; do
        [ "$server_looks" -lt 1200 ] || return 1
        server_looks=$((server_looks + 1))
        # The server sleeps, because `sleep` is a process. One that restarts does not.
        server_ask 'SELECT pg_sleep(0.05)' 2>/dev/null || sleep 0.05
    done
    # A session would keep the database of a script that has no other use for it.
    [ -n "$server_had" ] || close_server_session
}

# Runs statements as `psql -c` does: in one transaction, up to the first error, which is printed and
# is the exit code. Sets $server_answer to the rows. One psql runs all of them, because on a slow
# machine a psql and its backend for each need 100 ms of the processor. Nothing is left behind for the
# next: no setting, no lock, no open transaction. Two at once would mix their rows, so a job in the
# background calls leave_server_session first.
server_ask() # statements
{
    # psql itself would cut them at each semicolon.
    server_feed "SELECT \$mailproof\$$1\$mailproof\$ \\gexec"
}

# The same, with lines as psql reads them from a file.
server_feed() # lines
{
    server_answer=
    if [ "$server_session" = "$PGHOST $PGUSER $PGDATABASE ${PGOPTIONS-}" ] && server_ran "$1"; then
        return "$server_code"
    fi
    if [ -z "${PGOPTIONS-}" ] && open_server_session; then
        server_ran "$1" || server_code=2
        return "$server_code"
    fi
    server_code=0
    server_answer=$(printf '%s\n' "$1" | psql -v ON_ERROR_STOP=1 -qAtX) || server_code=$?
    [ -z "$server_answer" ] || server_answer=$server_answer$server_newline
    return "$server_code"
}

# Starts the psql that runs the statements; its rows come through descriptor 4. Fails in a subshell,
# whose descriptors go with it.
open_server_session()
{
    read -r server_shell server_rest 2>/dev/null </proc/self/stat && [ "$server_shell" = $$ ] || return 1
    close_server_session
    [ -p "$server_dir/session.statements" ] || mkfifo "$server_dir/session.statements" "$server_dir/session.rows"
    # A pipe that the script holds by 3 or 5 is to end when the script closes it.
    psql -v ON_ERROR_STOP=1 -qAtX <>"$server_dir/session.statements" >"$server_dir/session.rows" \
        2>>"$server_dir/session.errors" 3>&- 5>&- &
    server_psql=$!
    exec 4<"$server_dir/session.rows"
    server_session="$PGHOST $PGUSER $PGDATABASE ${PGOPTIONS-}"
}

# Gives a subshell that runs beside the script a psql of its own for each call.
leave_server_session()
{
    server_session=
}

close_server_session()
{
    [ -n "$server_psql" ] || return 0
    echo '\q' 1<>"$server_dir/session.statements"
    wait "$server_psql" || true
    exec 4<&-
    server_session=
    server_psql=
}

# Fails when the session was over before the lines began. Otherwise it sets $server_code, which is 1
# when the session did not get to the end of them: psql ends at an error.
server_ran() # lines
{
    : >"$server_dir/session.errors"
    # The first mark is printed if the server is there.
    printf '%s\n' "SELECT '$server_mark';" "$1" "\\warn $server_mark" 'DISCARD ALL;' \
        "SELECT '$server_mark';" 1<>"$server_dir/session.statements"
    IFS= read -r server_line <&4 && [ "$server_line" = "$server_mark" ] || return 1
    while IFS= read -r server_line <&4 && [ "$server_line" != "$server_mark" ]; do
        server_answer=$server_answer$server_line$server_newline
    done
    server_code=1
    while IFS= read -r server_line; do
        if [ "$server_line" = "$server_mark" ]; then
            server_code=0
            break
        fi
        printf '%s\n' "$server_line" >&2
    done <"$server_dir/session.errors"
}

# Sends SIGKILL to the postmaster and to every process that it started.
crash_server()
{
    # The postmaster is stopped first, so that it neither starts a child nor notices the death of
    # one while we kill them.
    kill -STOP "$server_pid"
    # Finds the children in /proc, because a small container has no ps.
    server_children=$(sed 's/(.*)/-/' /proc/[0-9]*/stat 2>/dev/null |
        awk -v parent="$server_pid" '$4 == parent {print $1}')
    # shellcheck disable=SC2086
    kill -KILL "$server_pid" $server_children
    wait "$server_pid" 2>/dev/null || true
    server_pid=
    # The data directory stays locked until the last of the server's processes is gone.
    for server_child in $server_children; do
        while kill -0 "$server_child" 2>/dev/null; do sleep 0.02; done
    done
}

find_server_bindir()
{
    # Finds the highest version that Debian has installed.
    server_newest=$(find /usr/lib/postgresql -mindepth 2 -maxdepth 2 -name bin 2>/dev/null |
        sort -V | tail -n 1)
    for server_candidate in "${PG_BINDIR:-}" "$server_newest" \
        "$(dirname "$(command -v initdb || echo /nowhere/initdb)")"; do
        if [ -x "$server_candidate/initdb" ] && [ -x "$server_candidate/postgres" ]; then
            echo "$server_candidate"
            return 0
        fi
    done
    return 1
}

server_user()
{
    if id postgres >/dev/null 2>&1; then
        echo postgres
    else
        echo nobody
    fi
}

# PostgreSQL refuses to run as root. The command replaces the subshell that
# this is called in, so that $! is the postmaster's own process id.
exec_as_server_user()
{
    cd / || exit 70
    if [ "$(id -u)" -eq 0 ]; then
        exec setpriv --reuid="$(server_user)" --regid="$(id -g "$(server_user)")" \
            --clear-groups -- "$@"
    fi
    exec "$@"
}

server_cleanup()
{
    server_status=$?
    set +e
    trap - EXIT
    trap '' HUP INT TERM
    eval "$server_commands"
    [ -z "$server_psql" ] || { kill "$server_psql" 2>/dev/null; wait "$server_psql" 2>/dev/null; }
    if [ -n "$server_pid" ]; then
        # SIGQUIT is an immediate shutdown: nobody will read this data again.
        kill -QUIT "$server_pid" 2>/dev/null
        wait "$server_pid" 2>/dev/null
    fi
    # A killed server leaves one System V segment, which its lock file names.
    server_segment=$(sed -n '7s/.* //p' "$server_dir/data/postmaster.pid" 2>/dev/null)
    [ -z "$server_segment" ] || ipcrm -m "$server_segment" 2>/dev/null
    [ -n "$server_dir" ] && rm -rf "$server_dir"
    exit "$server_status"
}
