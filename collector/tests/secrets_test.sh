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
mail_password=battery-staple
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
    loose_files_are_named
    long_passwords_are_refused
    the_sender_knows_no_database
    nothing_is_logged
    echo "secrets stay secret"
}

# Copies the programs to a place that the server's user, who is not root, can reach.
prepare()
{
    cp "$BUILD_DIR/bin/mailroom-collector" "$BUILD_DIR/bin/mailroom-sender" "$server_dir"
    chmod 755 "$server_dir/mailroom-collector" "$server_dir/mailroom-sender"
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

# The sender, which talks to the Internet, gets its own settings and none of the collector's. It
# keeps its password from other processes, too.
the_sender_knows_no_database()
{
    export SENDER_URL=smtp://127.0.0.1:1 SENDER_FROM=a@b.example SENDER_SITE=https://b.example
    export SENDER_USER=me SENDER_PASSWORD=$mail_password
    MAILROOM_DEQUEUE=leased MAILROOM_DATABASE_URL="host=$PGHOST user=postgres dbname=$PGDATABASE" \
        "$BUILD_DIR/bin/mailroom-collector" --switch-mode 2>"$server_dir/switch.log" || failed "no switch"
    (
        export MAILROOM_DEQUEUE=leased PGPASSWORD=$password PGAPPNAME=mine
        start leased "$server_dir/mailroom-collector" -- sh -c \
            "tr '\\0' '\\n' </proc/self/environ >$server_dir/leased.cores/environ; exec $server_dir/mailroom-sender"
        echo "$pid_leased" >"$server_dir/leased.number"
    )
    pid_leased=$(cat "$server_dir/leased.number")
    at_exit "kill -KILL $pid_leased 2>/dev/null"
    has_logged leased "in leased mode"
    pid_launcher=$(child_of "$pid_leased") sender_deadline=$(($(date +%s) + 60))
    until pid_sender=$(child_of "$pid_launcher") &&
        [ "$(cat "/proc/$pid_sender/comm" 2>&1)" = mailroom-sender ]; do
        kill -0 "$pid_leased" && [ "$(date +%s)" -le "$sender_deadline" ] || failed "no sender"
        sleep 0.02
    done
    # Not even root finds a secret in the environment of the launcher, and nobody else looks into it.
    ! can_look "$pid_launcher" || failed "another process can read the launcher's memory"
    ! grep -qs "$key" "/proc/$pid_launcher/environ" || failed "the launcher keeps the key"
    ! grep -qs "$password" "/proc/$pid_launcher/environ" || failed "the launcher keeps the password"
    grep -qx SENDER_USER=me "$server_dir/leased.cores/environ" || failed "the sender lacks its settings"
    ! grep -E '^(MAILROOM_|PG)' "$server_dir/leased.cores/environ" || failed "the sender got the collector's"
    ! can_open "$pid_sender" || failed "another process can read the sender's memory"
    if grep -qs SENDER_USER "/proc/$pid_sender/environ"; then
        ! grep -q "$mail_password" "/proc/$pid_sender/environ" || failed "the password stays in the environment"
    fi
    if grep -qs MAILROOM_DEQUEUE "/proc/$pid_leased/environ"; then
        ! grep -q "MAILROOM_DATABASE_URL=.*$password" "/proc/$pid_leased/environ" ||
            failed "the database's password stays in the environment"
    fi
    kill "$pid_leased"
    unset SENDER_URL SENDER_FROM SENDER_SITE SENDER_USER SENDER_PASSWORD
}

child_of() # pid
{
    child_of_answer=$(cat "/proc/$1/task/$1/children")
    echo "${child_of_answer% }"
}

can_open() # pid
{
    (exec_as_server_user head -c 0 "/proc/$1/mem" 2>/dev/null)
}

# A key or a password that everybody on the machine can read is named; others are not.
loose_files_are_named()
{
    echo "$key" >"$server_dir/key"
    for mode in 600 644; do
        chmod "$mode" "$server_dir/key"
        (unset MAILROOM_SECRET_KEY; MAILROOM_SECRET_KEY_FILE=$server_dir/key run "key-$mode"
            has_logged "key-$mode" collecting
            ends "key-$mode" TERM 0)
    done
    grep -q "key can be read by others" "$server_dir/key-644.log" || failed "no word of a loose key"
    ! grep -q "read by others" "$server_dir/key-600.log" || failed "a word of a tight key"
    echo "$mail_password" >"$server_dir/word"
    for mode in 600 644; do
        chmod "$mode" "$server_dir/word"
        sender_with_word "word-$mode" || failed "the sender does not start"
    done
    grep -q "word can be read by others" "$server_dir/word-644.log" || failed "no word of a loose password"
    ! grep -q "read by others" "$server_dir/word-600.log" || failed "a word of a tight password"
}

sender_with_word() # log
{
    SENDER_URL=smtp://127.0.0.1:1 SENDER_FROM=a@b.example SENDER_SITE=https://b.example SENDER_USER=me \
        SENDER_PASSWORD_FILE=$server_dir/word "$BUILD_DIR/bin/mailroom-sender" </dev/null \
        >/dev/null 2>"$server_dir/$1.log"
}

# A password that is longer than the sender can keep is refused, and not cut.
long_passwords_are_refused()
{
    printf '%01024d\n' 0 >"$server_dir/word"
    sender_with_word fits || failed "a password of 1024 characters does not fit"
    printf '%01026d\n' 0 >"$server_dir/word"
    ! sender_with_word long || failed "a password of 1026 characters is cut"
    grep -q "word is too long" "$server_dir/long.log" || failed "no word of a password that is too long"
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
