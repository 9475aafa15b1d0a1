#!/bin/sh
# The zoo's good collector keeps its promises, and two defects (cursor-first and
# id-only) do their harm. Runs without the harness, because the harness's own tests
# rely on the zoo.
set -eu

here=${SOURCE_DIR:-$(cd "$(dirname "$0")/../.." && pwd)}
zoo=${BUILD_DIR:-$here/build}/tests/mailroom-zoo
# shellcheck source=ci/private-server.sh
. "$here/ci/private-server.sh"

failures=0
collector=
key=000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f

main()
{
    start_server
    at_exit 'stop_collector KILL'
    the_lines_are_as_specified
    killed_backends none
    killed_collectors
    tokens_in_memory_are_lost
    late_commits none "1 2 3"
    late_commits id-only "2 3"
    schema_without_cursor
    [ "$failures" -eq 0 ] && echo "the zoo behaves and misbehaves as declared"
}

# --- the tests ---------------------------------------------------------------

the_lines_are_as_specified()
{
    new_database written
    sql "INSERT INTO accounts (email, login) SELECT 'u' || n || '@x', 'u' || n
             FROM generate_series(1, 25) n;
         UPDATE tokens SET consumed_at = 1 WHERE id = 4;
         UPDATE accounts SET status = 'active' WHERE id = 4;
         UPDATE tokens SET code = NULL WHERE id = 5;
         UPDATE tokens SET expires_at = 1 WHERE id = 6;
         UPDATE accounts SET status = 'suspended' WHERE id = 7;
         UPDATE tokens SET secret = 'short' WHERE id = 8;
         ALTER TABLE accounts DISABLE TRIGGER account_check_sendable;
         UPDATE accounts SET email = 'a,b' WHERE id = 9;
         UPDATE accounts SET login = E'a\\u0085b' WHERE id = 10;
         INSERT INTO tokens (account, action) VALUES (4, 'password_recovery');
         INSERT INTO tokens (account, action, code) VALUES (4, 'password_recovery', NULL)"
    expected=$(sql "SELECT concat_ws(',', CASE action WHEN 'activation' THEN 1 ELSE 2 END,
            email, login, rtrim(translate(encode(secret || hmac(CASE action
                WHEN 'activation' THEN '/activate' || secret
                ELSE '/recover' || secret || code::bytea END, '\\x$key', 'sha256'), 'base64'),
                E'+/\\n', '-_'), '='), coalesce(code, ''))
        FROM tokens JOIN accounts ON accounts.id = account
        WHERE tokens.id NOT IN (4, 6, 7, 8, 9, 10, 27) ORDER BY tokens.id")
    start_collector none 10 60000
    until_true "SELECT last_seq = 27 FROM jobs"
    same "what is written" "$expected" "$(tokens_written)"
    same "batches at the start" "10 10 0" "$(lengths)"
    same "dead letters" "8 secret,9 email,10 login,27 code" \
        "$(sql "SELECT string_agg(token || ' ' || reason, ',' ORDER BY token) FROM dead_letters")"
    stop_collector TERM
    same "exit code" 0 "$status"
}

# Under load, while its backend is killed again and again, the collector writes each token
# exactly once.
killed_backends() # defect
{
    new_database "backends"
    start_collector "$1" 10 50
    insert_in_background 1500
    kills=0
    while [ "$kills" -lt 20 ] && [ "$(written)" -lt 1450 ]; do
        until_written $(($(written) + 20))
        sql "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE application_name = 'mailroom-zoo'" >/dev/null
        kills=$((kills + 1))
    done
    [ "$kills" -ge 3 ] || failed "$1: only $kills kills before the load was over"
    until_written 1500
    until_true "SELECT last_seq = 1500 FROM jobs"
    same "$1: written under backend kills" "1500 1500" "$(written) $(written_once)"
    stop_collector TERM
    same "$1: exit code" 0 "$status"
}

# After SIGKILL nothing is lost, and each death repeats one batch at most.
killed_collectors()
{
    new_database collectors
    start_collector none 10 50
    insert_in_background 1000
    kills=0
    while [ "$kills" -lt 10 ] && [ "$(written)" -lt 950 ]; do
        until_written $(($(written) + 20))
        stop_collector KILL
        start_collector none 10 50
        kills=$((kills + 1))
    done
    [ "$kills" -ge 3 ] || failed "only $kills kills before the load was over"
    until_true "SELECT last_seq = 1000 FROM jobs"
    same "written under SIGKILL" 1000 "$(written_once)"
    [ "$(written)" -le 1100 ] || failed "more than one batch repeated per SIGKILL: $(written)"
    stop_collector TERM
}

# After SIGKILL, cursor-first has lost the token that it had dequeued into memory. The
# good collector has lost none: it also waits for a full batch, but meanwhile its tokens
# stay in the database.
tokens_in_memory_are_lost()
{
    for defect in none cursor-first; do
        new_database "memory_$(echo "$defect" | tr - _)"
        start_collector "$defect" 3 60000
        has_looked # tokens that it finds at its start go out at once
        sql "INSERT INTO accounts (email, login) VALUES ('u1@x', 'u1')"
        if [ "$defect" = cursor-first ]; then
            until_true "SELECT last_seq = 1 FROM jobs"
        fi
        stop_collector KILL
        start_collector "$defect" 3 60000
        sql "INSERT INTO accounts (email, login) SELECT 'u' || n || '@x', 'u' || n
             FROM generate_series(2, 4) n"
        until_true "SELECT last_seq = 4 FROM jobs"
        stop_collector TERM
        [ "$defect" = none ] && same "none: ids after SIGKILL" "1 2 3 4" "$(ids)"
        [ "$defect" = none ] || same "$defect: ids after SIGKILL" "2 3 4" "$(ids)"
    done
}

# Id 1 is committed after id 2. When id 3 is out, everything else must be out, too.
late_commits() # defect, expected
{
    new_database "late_$(echo "$1" | tr - _)"
    start_collector "$1" 1 1
    mkfifo "$server_dir/late"
    psql -qAtX <"$server_dir/late" &
    exec 3>"$server_dir/late"
    rm "$server_dir/late"
    echo "BEGIN; INSERT INTO accounts (email, login) VALUES ('u1@x', 'u1');" >&3
    until_true "SELECT last_value = 1 AND is_called FROM tokens_id_seq"
    sql "INSERT INTO accounts (email, login) VALUES ('u2@x', 'u2')"
    [ "$1" = none ] || until_written 1
    echo "COMMIT;" >&3
    exec 3>&-
    until_true "SELECT count(*) = 2 FROM accounts"
    sql "INSERT INTO accounts (email, login) VALUES ('u3@x', 'u3')"
    until_true "SELECT last_seq = 3 FROM jobs"
    stop_collector TERM
    same "$1: late commits" "$2" "$(ids)"
}

schema_without_cursor()
{
    sql "CREATE DATABASE published TEMPLATE template0"
    PGDATABASE=published
    migrate 000001
    start_collector none 10 50
    wait "$collector" 2>/dev/null && status=0 || status=$?
    collector=
    same "exit code at 000001" 78 "$status"
}

# --- helpers -----------------------------------------------------------------

sql() # statements
{
    psql -v ON_ERROR_STOP=1 -qAtX -c "$1"
}

new_database() # name
{
    out=$server_dir/$1.out
    log=$server_dir/$1.log
    : >"$out"
    sql "CREATE DATABASE $1 TEMPLATE template0"
    PGDATABASE=$1
    migrate 00
    sql "DO \$\$ BEGIN
            IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'zoo') THEN
                CREATE ROLE zoo LOGIN IN ROLE mailroom_collector;
            END IF; END \$\$"
}

migrate() # prefix of the files
{
    for file in "$here/migrations/$1"*.up.sql; do
        psql -v ON_ERROR_STOP=1 -qX -f "$file"
    done
}

start_collector() # defect, limit, timeout in ms
{
    MAILROOM_DATABASE_URL="host=$PGHOST user=zoo dbname=$PGDATABASE" MAILROOM_SECRET_KEY=$key \
        MAILROOM_BATCH_LIMIT=$2 MAILROOM_BATCH_TIMEOUT=$3 \
        "$zoo" --defect "$1" >>"$out" 2>>"$log" &
    collector=$!
}

stop_collector() # signal
{
    [ -n "$collector" ] || return 0
    kill "-$1" "$collector"
    wait "$collector" 2>/dev/null && status=0 || status=$?
    collector=
}

# One account per transaction.
insert_in_background() # accounts
{
    sql "DO \$\$ BEGIN FOR n IN 1..$1 LOOP
            INSERT INTO accounts (email, login) VALUES ('u' || n || '@x', 'u' || n);
            COMMIT;
            PERFORM pg_sleep(0.001);
        END LOOP; END \$\$" &
}

tokens_written()
{
    awk -F, '{for (i = 1; i < NF; i += 5)
        print $i "," $(i + 1) "," $(i + 2) "," $(i + 3) "," $(i + 4)}' "$out"
}

written()
{
    tokens_written | wc -l
}

written_once()
{
    tokens_written | sort -u | wc -l
}

ids()
{
    tokens_written | sed 's/^1,u\([0-9]*\)@.*/\1/' | sort -n | xargs
}

# Prints the number of tokens in each line; 10 10 0 for two full lines and no third.
lengths()
{
    awk -F, '{print NF / 5} END {print 0}' "$out" | xargs
}

until_written() # tokens
{
    deadline=$(($(date +%s) + 60))
    until [ "$(written)" -ge "$1" ]; do
        not_yet "$deadline" "$1 tokens written"
    done
}

has_looked()
{
    until_true "SELECT count(*) = 1 FROM pg_stat_activity WHERE usename = 'zoo'
        AND datname = current_database() AND state = 'idle' AND query LIKE '-- The rows behind the cursor%'"
}

until_true() # query
{
    deadline=$(($(date +%s) + 60))
    until [ "$(sql "$1")" = t ]; do
        not_yet "$deadline" "$1"
    done
}

not_yet() # deadline, what
{
    if [ "$(date +%s)" -gt "$1" ]; then
        failed "never came true in $PGDATABASE: $2"
        cat "$log"
        exit 1
    fi
    sleep 0.05
}

same() # what, expected, got
{
    [ "$2" = "$3" ] || failed "$1: expected '$2', got '$3'"
}

failed() # message
{
    echo "FAILED: $1"
    failures=$((failures + 1))
}

main
[ "$failures" -eq 0 ]
