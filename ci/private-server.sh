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
}

# Asks the server every 50 ms until the answer is t. Fails after 60 seconds. One session asks all of
# it, because a psql for each question would keep a processor busy.
server_says_true() # query
{
    server_deadline=$(($(date +%s) + 60))
    # A server that restarts ends the session, and the next one goes on.
    until [ "$(ask_again_and_again "$1" | psql -qAtX 2>/dev/null)" = yes ]; do
        [ "$(date +%s)" -le "$server_deadline" ] || return 1
        sleep 0.05
    done
}

# Prints statements for psql, which ends with yes when the query is true.
ask_again_and_again() # query
{
    while [ "$(date +%s)" -le "$server_deadline" ]; do
        # psql may have ended meanwhile.
        printf 'SELECT (%s) AS ok \\gset\n\\if :ok\n\\echo yes\n\\q\n\\endif\n' "$1" || return 0
        sleep 0.05
    done 2>/dev/null
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
