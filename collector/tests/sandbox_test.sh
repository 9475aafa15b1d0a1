#!/bin/sh
# Code that runs in a live collector can start nothing, write no file and trace no process.
set -eu

# shellcheck source=ci/private-server.sh
. "$SOURCE_DIR/ci/private-server.sh"
# shellcheck source=collector/tests/test_lib.sh
. "$SOURCE_DIR/collector/tests/test_lib.sh"

main()
{
    [ "$(uname)" = Linux ] || { echo "skipped: the sandbox is Linux's"; exit 77; }
    [ -z "${SANITIZE-}" ] || { echo "skipped: a build with a sanitizer has no sandbox"; exit 77; }
    start_server
    migrate
    for call in execve fork ptrace; do
        inject "$call" on
        ends "$call-on" none 159 # by SIGSYS
    done
    for call in write-file make-code change-code kill raw-socket; do
        inject "$call" on
        answered "$call-on" "Function not implemented"
        still_collects "$call-on"
    done
    # What libraries need: they read files, and some start a thread.
    for call in read-file thread; do
        inject "$call" on
        answered "$call-on" "done"
        still_collects "$call-on"
    done
    # Without the sandbox each of them succeeds, so the test can see what it looks for.
    for call in execve fork ptrace write-file make-code change-code kill; do
        rm -f "$server_dir/written"
        inject "$call" off
        case $call in
        execve) ends execve-off none 0 ;; # it has become `true`
        *) answered "$call-off" "done" ;;
        esac
    done
    a_name_is_found
    a_sender_keeps_its_rights
    echo "what runs in the collector can do little"
}

# Runs a collector whose USR1 makes the call, and sends USR1.
inject() # call, on or off
{
    LD_PRELOAD=$BUILD_DIR/tests/libforbidden.so FORBIDDEN=$1 FORBIDDEN_FILE=$server_dir/written \
        MAILROOM_SANDBOX=$2 run "$1-$2"
    has_logged "$1-$2" "collecting"
    kill -USR1 "$(pid_of "$1-$2")"
}

answered() # name, how
{
    has_logged "$1" "FORBIDDEN ${1%-*}: $2"
    case $1 in *-off) ends "$1" KILL 137 ;; esac
}

still_collects() # name
{
    add_accounts 1 3
    drained
    ends "$1" TERM 0
    same "tokens of $1" "3 3" "$(tokens "$1")"
    sql "DELETE FROM accounts" >/dev/null
}

# Finding a host reads files, and loads modules where the system has some.
a_name_is_found()
{
    MAILROOM_DATABASE_URL="host=localhost port=1 user=collector dbname=$PGDATABASE" run name
    has_logged name "refused"
    ends name TERM 0
}

# The sender is outside of the sandbox: it may start programs and write files.
a_sender_keeps_its_rights()
{
    MAILROOM_DEQUEUE=leased MAILROOM_DATABASE_URL="host=$PGHOST user=postgres dbname=$PGDATABASE" \
        "$BUILD_DIR/bin/mailroom-collector" --switch-mode 2>"$server_dir/switch.log" || failed "no switch"
    MAILROOM_DEQUEUE=leased run leased -- sh -c "sh -c true; grep -E 'NoNewPrivs|Seccomp:' /proc/self/status \
        >$server_dir/status.new; mv $server_dir/status.new $server_dir/status; exec cat >/dev/null"
    has_logged leased "started as process"
    lib_deadline=$(($(date +%s) + 60))
    until [ -f "$server_dir/status" ]; do
        [ "$(date +%s)" -le "$lib_deadline" ] || failed "the sender did not start its programs"
        sleep 0.05
    done
    same "what holds the sender" "NoNewPrivs:0 Seccomp:0" "$(tr -d '\t' <"$server_dir/status" | paste -sd' ')"
    same "what holds the collector" "NoNewPrivs:1 Seccomp:2" \
        "$(grep -E 'NoNewPrivs|Seccomp:' "/proc/$(pid_of leased)/status" | tr -d '\t' | paste -sd' ')"
    ends leased TERM 0
}

main
