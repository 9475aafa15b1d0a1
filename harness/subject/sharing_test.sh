#!/bin/sh
# Tests examples/sharing.py, a collector that shares a queue: two run at once, one is killed and
# started again, the server is killed. Every token is sent, and a death repeats at most one line.
set -eu

# shellcheck source=migrations/test_lib.sh
. "$SOURCE_DIR/migrations/test_lib.sh"

/usr/bin/python3 -c 'import psycopg2' 2>/dev/null || {
    echo "skipped: python3-psycopg2 is not installed"
    exit 77
}

main()
{
    start_server -c fsync=on
    new_database sharing
    up_to "$latest"
    export MAILROOM_DATABASE_URL="dbname=sharing" MAILROOM_BATCH_TIMEOUT=50
    MAILROOM_SECRET_KEY=$(printf '%064d' 1)
    export MAILROOM_SECRET_KEY
    begin a
    begin b
    add_accounts 1 300
    until_true "SELECT count(*) > 50 FROM mailroom_status WHERE state = 'sent'"
    kill -KILL "$(cat "$server_dir/a.pid")"
    begin c
    add_accounts 301 400
    until_true "SELECT count(*) > 150 FROM mailroom_status WHERE state = 'sent'"
    crash_server
    resume_server
    add_accounts 401 500
    until_true "SELECT count(*) = 500 FROM mailroom_status WHERE state = 'sent'"
    until_true "SELECT count(*) = 0 FROM deliveries"
    until_true "SELECT count(*) = 2 FROM owners WHERE owner <> 0" # the killed one is forgotten
    # Whoever asks for the next line knows that the last one is settled, and ends with 0.
    until_true "SELECT count(*) = 2 FROM pg_stat_activity
        WHERE pid <> pg_backend_pid() AND query LIKE '%FROM mailroom_take(%'"
    for name in b c; do
        pid=$(cat "$server_dir/$name.pid")
        kill -TERM "$pid"
        wait "$pid" && status=0 || status=$?
        same "exit code of $name" 0 "$status"
    done
    logins="$(cat "$server_dir"/[abc].out | tr ',' '\n' | grep '^u[0-9]*$')"
    same "tokens that were sent" 500 "$(echo "$logins" | sort -u | wc -l)"
    twice=$(echo "$logins" | sort | uniq -d | wc -l)
    [ "$twice" -le 10 ] || failed "$twice tokens were sent twice, one line may be"
    begin d # forgets the other two
    until_true "SELECT count(*) = 1 FROM owners WHERE owner <> 0"
    [ "$failures" -eq 0 ] && echo "two share a queue, whatever dies"
}

# Starts a collector whose reader says that each line was sent.
begin() # name
{
    mkfifo "$server_dir/$1.line" "$server_dir/$1.answer"
    /usr/bin/python3 "$SOURCE_DIR/harness/subject/examples/sharing.py" \
        <"$server_dir/$1.answer" >"$server_dir/$1.line" 2>"$server_dir/$1.log" &
    echo $! >"$server_dir/$1.pid"
    at_exit "kill -KILL $! 2>/dev/null"
    (
        n=0
        while read -r text; do
            echo "$text" >>"$server_dir/$1.out"
            n=$((n + 1))
            echo "$n sent" || exit 0
        done >"$server_dir/$1.answer" <"$server_dir/$1.line"
    ) 2>/dev/null &
    at_exit "kill -KILL $! 2>/dev/null"
}

main
[ "$failures" -eq 0 ]
