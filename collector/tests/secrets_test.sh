#!/bin/sh
# The key and the password are in no argument, no log and no core dump, and out
# of the reach of other processes of the same user.
set -eu

# shellcheck source=ci/private-server.sh
. "$SOURCE_DIR/ci/private-server.sh"
# shellcheck source=collector/tests/test_lib.sh
. "$SOURCE_DIR/collector/tests/test_lib.sh"

key=c0ffee0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d
password=correct-horse
pid_open='' pid_closed='' shell_open='' shell_closed='' # start() fills them

main()
{
    [ -r /proc/self/environ ] || { echo "skipped: no /proc here"; exit 77; }
    if [ -n "${SANITIZE-}" ]; then
        echo "skipped: the leak check of a sanitizer reads the process's memory"
        exit 77
    fi
    export MAILROOM_SECRET_KEY=$key
    start_server
    migrate
    export MAILROOM_DATABASE_URL="$MAILROOM_DATABASE_URL password=$password"
    prepare
    # The same attempts are made on `sleep`, which hides nothing, to see that they can succeed.
    start open sleep 600
    start closed "$server_dir/mailroom-collector"
    has_logged closed collecting
    same "arguments" "$server_dir/mailroom-collector " "$(tr '\0' ' ' <"/proc/$pid_closed/cmdline")"
    nobody_finds_the_key_in_the_environment
    its_own_user_cannot_look
    no_core_is_dumped
    nothing_is_logged
    echo "secrets stay secret"
}

# Copies the program to a place that the server's user, who is not root, can reach.
prepare()
{
    cp "$BUILD_DIR/bin/mailroom-collector" "$server_dir"
    chmod 755 "$server_dir/mailroom-collector"
    # The `:` at the end makes the shell wait for the command before it, because the shell's message
    # tells how that command ended.
    cat >"$server_dir/start" <<'END'
cd "${1%.pid}.cores"
ulimit -c unlimited
sh -c 'echo $$ >"$0"; exec "$@"' "$@"
:
END
}

start() # name, program, arguments
{
    start_name=$1
    shift
    mkdir "$server_dir/$start_name.cores"
    chown "$(stat -c %u "$server_dir")" "$server_dir/$start_name.cores"
    : >"$server_dir/$start_name.pid"
    chown "$(stat -c %u "$server_dir")" "$server_dir/$start_name.pid"
    (exec_as_server_user sh "$server_dir/start" "$server_dir/$start_name.pid" "$@") \
        >"$server_dir/$start_name.out" 2>"$server_dir/$start_name.log" &
    start_shell=$!
    start_deadline=$(($(date +%s) + 60))
    # Waits for the line end: then the number is complete, and the program starts next.
    until [ "$(wc -l <"$server_dir/$start_name.pid")" = 1 ]; do
        [ "$(date +%s)" -le "$start_deadline" ] || failed "$start_name did not start"
        sleep 0.02
    done
    eval "pid_$start_name=$(cat "$server_dir/$start_name.pid") shell_$start_name=$start_shell"
    at_exit "kill -KILL $(cat "$server_dir/$start_name.pid") 2>/dev/null"
}

# Not even root finds the key there, though root may read any process's environment.
nobody_finds_the_key_in_the_environment()
{
    if ! grep -qs MAILROOM_SECRET_KEY "/proc/$pid_closed/environ"; then
        echo "not shown: only root may look into the environment"
        return
    fi
    ! grep -q "$key" "/proc/$pid_closed/environ" || failed "the key stays in the environment"
}

its_own_user_cannot_look()
{
    until can_look "$pid_open"; do
        kill -0 "$pid_open" || failed "nobody can look at anybody here"
        sleep 0.02
    done
    ! can_look "$pid_closed" || failed "another process can read the key"
}

can_look() # pid
{
    (exec_as_server_user grep -qs MAILROOM_SECRET_KEY "/proc/$1/environ") &&
        (exec_as_server_user head -c 0 "/proc/$1/mem" 2>/dev/null)
}

# If a limit or the system forbids all core dumps, this proves nothing, and says so.
no_core_is_dumped()
{
    add_accounts 1 3
    drained
    kill -SEGV "$pid_open" "$pid_closed"
    # The exit code is that of SIGSEGV with or without a core; the shell's message tells which.
    wait "$shell_open" || true
    wait "$shell_closed" || true
    grep -qi "segmentation fault" "$server_dir/closed.log" || failed "it did not crash"
    ! grep -q "core dumped" "$server_dir/closed.log" || failed "a core was dumped"
    grep -q "core dumped" "$server_dir/open.log" || echo "not shown: no core is dumped here at all"
    same "files of a crash" "" "$(ls "$server_dir/closed.cores")"
}

# The secrets appear neither in good runs nor when the settings or the server are bad.
nothing_is_logged()
{
    MAILROOM_DATABASE_URL="host=$server_dir/nowhere password=$password" run nowhere
    has_logged nowhere "cannot connect"
    ends nowhere TERM 0
    MAILROOM_DATABASE_URL="host=$server_dir password=$password port=no" run port
    has_logged port "cannot connect"
    ends port TERM 0
    MAILROOM_DATABASE_URL="host=$server_dir passw=$password" run option
    ends option none 78
    MAILROOM_SECRET_KEY=${key}0 run long
    ends long none 78
    for secret in "$key" "$password"; do
        found=$(grep -lF "$secret" "$server_dir"/*.log "$server_dir"/*.out || true)
        [ -z "$found" ] || failed "'$secret' is in $found"
    done
}

main
