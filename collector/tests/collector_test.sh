#!/bin/bash
# Runs the collector against a server of its own, breaks both, and compares what
# came out with what was inserted. Every account has one token, so an email
# address names a token.
set -euo pipefail

bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
[ -x "${bin:-}/postgres" ] || { echo "no PostgreSQL server on this machine"; exit 77; }
collector=$BUILD_DIR/bin/mailroom-collector
work=$(mktemp -d /var/tmp/mailroom.XXXXXX)
# The data directory lies apart from others on the disk: see harness/os/block_group.h.
chattr +T "$work" 2>/dev/null || true
mv "$(mktemp -d "$work/XXXXXX")" "$work/data"
user=()
if [ "$(id -u)" = 0 ]; then
    chown postgres "$work" "$work/data"
    user=(setpriv --reuid=postgres --regid=postgres --init-groups)
fi

pid= # the running collector
reader=
runs=0

clean_up() {
    [ -z "$pid" ] || kill -KILL "$pid" 2>/dev/null || true
    "${user[@]}" "$bin/pg_ctl" -D "$work/data" -m immediate -w stop >/dev/null 2>&1 || true
    rm -rf "$work"
}
trap clean_up EXIT

fail() {
    echo "FAILED: $*"
    echo "--- the collector's log"
    tail -n 40 "$work/log"
    exit 1
}

sql() { "$bin/psql" -XqAt -v ON_ERROR_STOP=1 -h "$work" -U postgres -d "${db:-mail}" "$@"; }
server() { "${user[@]}" "$bin/pg_ctl" -D "$work/data" -l "$work/server.log" -w "$@" >/dev/null; }

export MAILROOM_DATABASE_URL="host=$work user=collector dbname=mail"
export MAILROOM_SECRET_KEY=000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f
export MAILROOM_BATCH_LIMIT=10 MAILROOM_BATCH_TIMEOUT=50 MAILROOM_HEALTHCHECK_INTERVAL=1000

# Each run writes to a file of its own, so that a torn line stays the last one of its file.
start_collector() {
    runs=$((runs + 1))
    mkfifo "$work/pipe.$runs"
    : >"$work/out.$runs"
    cat "$work/pipe.$runs" >>"$work/out.$runs" &
    reader=$!
    "$collector" >"$work/pipe.$runs" 2>>"$work/log" &
    pid=$!
}

# stop_collector SIGNAL EXPECTED-CODE
stop_collector() {
    local code=0
    kill -"$1" "$pid"
    wait "$pid" 2>/dev/null || code=$?
    pid=
    wait "$reader" || true
    [ "$code" = "$2" ] || fail "exit code $code after $1, not $2"
}

# Email addresses of complete lines, one per token.
delivered() { # `read` fails on a line without its newline, so such a line does not count
    local f line
    for f in "$work"/out.*; do
        while IFS= read -r line; do printf '%s\n' "$line"; done <"$f"
    done | awk -F, '{ for (i = 2; i <= NF; i += 5) print $i }'
}

# insert PREFIX COUNT: single-row transactions on four connections, in the background. A connection
# sends 50 of them; when it is lost, its further rows are left out.
inserters=()
insert() {
    local w
    for w in 1 2 3 4; do
        insert_some "$1-$w" "$2" &
        inserters+=($!)
    done
}

insert_some() {
    local from i
    for ((from = 1; from <= $2; from += 50)); do
        for ((i = from; i < from + 50 && i <= $2; i++)); do
            echo "INSERT INTO accounts (email, login) VALUES ('$1-$i@example.com', '$1-$i');"
        done | sql >/dev/null 2>&1 || until sql -c "SELECT 1" >/dev/null 2>&1; do sleep 0.1; done
    done
}

inserted() {
    local p
    for p in "${inserters[@]}"; do wait "$p" || true; done
    inserters=()
}

# kill_backends TIMES: ends the collector's sessions, with a pause in which it connects again.
kill_backends() {
    local i
    for ((i = 0; i < $1; i++)); do
        echo "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'mailroom-collector';
            SELECT pg_sleep(0.04);"
    done | sql >/dev/null
}

# logged TEXT [FILE]: waits until the running collector has logged this text.
logged() {
    until grep -q "$1" "${2:-$work/log}"; do
        kill -0 "$pid" || fail "it ended and did not say: $1"
        sleep 0.05
    done
}

# Waits until the cursor has passed every token.
drained() {
    local deadline=$((SECONDS + 60))
    until [ "$(sql -c "SELECT (SELECT count(*) FROM mailroom_untaken('mailroom')) + (SELECT count(*) FROM deliveries)" 2>/dev/null)" = 0 ]; do
        [ $SECONDS -lt $deadline ] || fail "not drained: $1"
        kill -0 "$pid" || fail "the collector ended: $1"
        sleep 0.1
    done
}

# nothing_lost WHAT DUPLICATES-ALLOWED: compares what came out with what is committed.
nothing_lost() {
    sql -c "SELECT email FROM accounts ORDER BY 1" | LC_ALL=C sort >"$work/wanted"
    delivered | LC_ALL=C sort >"$work/all"
    LC_ALL=C sort -u "$work/all" >"$work/got"
    local lost phantom twice
    lost=$(LC_ALL=C comm -23 "$work/wanted" "$work/got" | wc -l)
    phantom=$(LC_ALL=C comm -13 "$work/wanted" "$work/got" | wc -l)
    twice=$(($(wc -l <"$work/all") - $(wc -l <"$work/got")))
    echo "$1: $(wc -l <"$work/wanted") inserted, $lost lost, $phantom phantom, $twice twice"
    [ "$lost" = 0 ] || fail "lost tokens: $1"
    [ "$phantom" = 0 ] || fail "phantom tokens: $1"
    [ "$twice" -le "$2" ] || fail "duplicates: $1"
}

"${user[@]}" "$bin/initdb" -D "$work/data" -U postgres -A trust -E UTF8 --no-locale >/dev/null
printf "listen_addresses = ''\nunix_socket_directories = '%s'\n" "$work" >>"$work/data/postgresql.conf"
server start
db=postgres sql -c "CREATE DATABASE mail" -c "CREATE ROLE collector LOGIN"

# The schema does not fit, or a setting does not.
code=0
"$collector" >/dev/null 2>"$work/log" || code=$?
[ "$code" = 78 ] && grep -q 000001_init "$work/log" || fail "an empty database: exit code $code"
code=0
MAILROOM_BATCH_LIMIT=ten "$collector" >/dev/null 2>"$work/log" || code=$?
[ "$code" = 78 ] && grep -q "MAILROOM_BATCH_LIMIT is 'ten'" "$work/log" || fail "a bad limit: exit code $code"

# A standard output that is closed.
code=0
"$collector" <&- >&- 2>"$work/log" || code=$?
[ "$code" = 74 ] && grep -q "standard output is closed" "$work/log" || fail "no standard output: exit code $code"

for f in "${MIGRATIONS:-$SOURCE_DIR/migrations}"/*.up.sql; do sql -f "$f" >/dev/null; done

# A role without rights: the log says what gives them, and the collector goes on once it has them.
: >"$work/log"
start_collector
logged 'SQLSTATE 42501.*GRANT mailroom_collector TO "collector"'
sql -c "GRANT mailroom_collector TO collector" # the collector has no other rights
logged "first start on this queue; making its cursor"
logged collecting
stop_collector TERM 0

# A standard output that may not grow, as on a full disk. (ThreadSanitizer writes
# a file of its own before anything else, and dies of the limit.)
insert limited 1
inserted
if [ "${SANITIZE-}" != thread ]; then
    code=0
    (ulimit -f 0 && exec "$collector" 2>&1 >"$work/limited") | cat >"$work/log" || code=$?
    [ "$code" = 74 ] && grep -q "standard output failed: File too large" "$work/log" ||
        fail "a limited standard output: exit code $code"
fi

start_collector
insert plain 200
inserted
drained plain
nothing_lost "no fault" 0

insert killed 500
kill_backends 40
inserted
drained "backends killed"
nothing_lost "backends killed" 0

# A backlog, in which each batch is read before the move of the batch before it is confirmed.
sql -c "INSERT INTO accounts (email, login) SELECT 'b' || n || '@x', 'b' || n FROM generate_series(1, 10000) n"
kill_backends 15
drained "backends killed during a backlog"
nothing_lost "backends killed during a backlog" 0

# A line whose tokens stand further apart than a read examines, and whose move
# is lost with its session.
sql -c "CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN PERFORM pg_advisory_xact_lock_shared(4711); RETURN NEW; END'" \
    -c "CREATE TRIGGER held BEFORE UPDATE OF xid ON cursors FOR EACH ROW EXECUTE FUNCTION hold()"
mkfifo "$work/hold"
sql <"$work/hold" >/dev/null &
exec 8>"$work/hold"
echo "SELECT pg_advisory_lock(4711);" >&8
holds="FROM pg_locks WHERE locktype = 'advisory' AND objid = 4711 AND"
until [ "$(sql -c "SELECT count(*) $holds granted")" = 1 ]; do sleep 0.05; done
sql -c "INSERT INTO accounts (email, login) SELECT 'w' || n || '@x', 'w' || n FROM generate_series(1, 10) n;
    INSERT INTO tokens (action, account, expires_at)
        SELECT 'activation', (SELECT min(id) FROM accounts), 1 FROM generate_series(1, 2500);
    UPDATE tokens SET id = nextval('tokens_id_seq') FROM accounts a
        WHERE a.id = account AND a.login IN ('w4', 'w5', 'w6', 'w7', 'w8', 'w9', 'w10')"
deadline=$((SECONDS + 60))
until [ "$(sql -c "SELECT count(*) $holds NOT granted")" = 1 ]; do
    [ $SECONDS -lt $deadline ] || fail "no move of the cursor is held"
    sleep 0.05
done
sql -c "SELECT pg_terminate_backend(pid) $holds NOT granted" >/dev/null
echo "SELECT pg_advisory_unlock(4711);" >&8
exec 8>&-
drained "tokens far apart"
nothing_lost "tokens far apart" 0
sql -c "DROP TRIGGER held ON cursors" -c "DROP FUNCTION hold()"

# The move itself succeeds, and its commit does not.
sql -c "CREATE SEQUENCE refusals" \
    -c "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS 'BEGIN
            IF nextval(''refusals'') = 1 THEN RAISE serialization_failure; END IF; RETURN NULL; END'" \
    -c "CREATE CONSTRAINT TRIGGER refused AFTER UPDATE OF xid ON cursors
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse()"
sql -c "INSERT INTO accounts (email, login) SELECT 'c' || n || '@x', 'c' || n FROM generate_series(1, 15) n"
drained "a commit failed"
[ "$(sql -c "SELECT last_value > 1 FROM refusals")" = t ] || fail "no commit failed"
nothing_lost "a commit failed" 0
sql -c "DROP TRIGGER refused ON cursors" -c "DROP FUNCTION refuse()" -c "DROP SEQUENCE refusals"

for how in fast immediate immediate; do
    insert "restart-$how-$RANDOM" 100
    server restart -m "$how"
    inserted
done
drained "server restarted"
nothing_lost "server restarted" 0

for ((i = 1; i <= 10; i++)); do
    # This collector is killed when it has written something, and the next one starts.
    before=$(wc -c <"$work/out.$runs")
    insert "kill9-$i" 50
    deadline=$((SECONDS + 20))
    until [ "$(wc -c <"$work/out.$runs")" -gt "$before" ] || [ $SECONDS -ge $deadline ]; do sleep 0.01; done
    stop_collector KILL 137
    start_collector
done
inserted
drained "collector killed"
nothing_lost "collector killed" $((10 * MAILROOM_BATCH_LIMIT))

# Tokens that the wire cannot carry go to dead_letters, and hold nothing up.
sql -c "INSERT INTO tokens (action, account, secret)
    SELECT 'activation', min(id), '\x00' FROM accounts"
insert dead 5
inserted
drained "dead letters"
[ "$(sql -c "SELECT string_agg(reason, ';') FROM dead_letters")" = "secret is not 32 bytes" ] || fail "dead letters"
nothing_lost "dead letters" $((10 * MAILROOM_BATCH_LIMIT))

stop_collector TERM 0

# A second collector stands by, and takes over when the first is gone.
: >"$work/log"
start_collector
first=$pid
logged collecting
: >"$work/log.second"
"$collector" >"$work/out.second" 2>"$work/log.second" &
pid=$!
logged "standing by" "$work/log.second"
kill -KILL "$first"
logged collecting "$work/log.second"
insert second 5
inserted
drained "taken over"
nothing_lost "taken over" $((10 * MAILROOM_BATCH_LIMIT))
kill -TERM "$pid"
wait "$pid" || fail "the second collector: exit code $?"

# A reader that stopped reading: nothing of the next line is written, so at TERM no line is
# unconfirmed and the cursor has not moved. A pipe holds 64 KiB.
: >"$work/log"
mkfifo "$work/stuck"
exec 9<>"$work/stuck"
"$collector" >"$work/stuck" 2>"$work/log" &
pid=$!
logged collecting
insert stuck 300
inserted
behind=$(sql -c "SELECT (SELECT count(*) FROM mailroom_untaken('mailroom')) + (SELECT count(*) FROM deliveries)")
[ "$behind" -gt 500 ] || fail "a reader that does not read was given all but $behind tokens"
# A health check may be under way at any one look.
deadline=$((SECONDS + 60))
until [ "$(sql -c "SELECT count(*) FROM pg_stat_activity WHERE usename = 'collector' AND (backend_xmin IS NOT NULL OR state <> 'idle')")" = 0 ]; do
    [ $SECONDS -le $deadline ] || fail "something stays open while the reader does not read"
    sleep 0.05
done
code=0
kill -TERM "$pid"
wait "$pid" || code=$?
# The code is 75 if the pipe took the beginning of a line: nobody will finish that line.
[ "$code" = 0 ] || [ "$code" = 75 ] || fail "exit code $code with a stopped reader"
# The reader gets all lines in the pipe except the unfinished one.
dd if="$work/stuck" of="$work/out.stuck" bs=64k iflag=nonblock 2>/dev/null || true
exec 9>&-
start_collector
drained "after the stopped reader"
nothing_lost "after the stopped reader" $((10 * MAILROOM_BATCH_LIMIT))
stop_collector TERM 0

# A reader that goes away ends the collector.
: >"$work/log"
start_collector
logged collecting
kill "$reader"
code=0
wait "$pid" || code=$?
pid=
[ "$code" = 74 ] || fail "exit code $code without a reader, not 74"
grep -q sanitizer "$work/log" -i && fail "a sanitizer complained"
echo "all is well"
