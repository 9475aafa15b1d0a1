#!/bin/sh
# mailproof proxy stands between a server and four clients: psql, pgbench, a Python and a
# Node client. It must break what it is told to break, and leave TLS unbroken. The Node
# client is tried where MAILPROOF_NODE_PG names a folder with the module pg.
set -eu

# shellcheck source=ci/private-server.sh
. "$SOURCE_DIR/ci/private-server.sh"

proxy=$BUILD_DIR/bin/mailproof

main()
{
    refuses_mistakes
    # A Unix socket has no TLS, so the server also listens at a random address of 127.0.0.0/8, which
    # is most likely free.
    address=127.$(od -An -N3 -tu1 /dev/urandom | awk '{ print $1 "." $2 "." 1 + $3 % 254 }')
    start_server -c "listen_addresses=$address"
    psql -qc 'CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 0)'
    serve_tls
    loses_the_answer_to_a_commit
    obeys_orders
    obeys_script_and_socket
    leaves_tls_alone
    pgbench_runs_through
    a_python_client_sees_the_cut
    a_node_client_sees_the_cut
    ends_with_a_signal
    echo "the proxy breaks what it is told to, and nothing else"
}

failed() # sentence
{
    echo "FAILED: $1"
    tail -n 20 "$server_dir"/*.log
    exit 1
}

refuses_mistakes()
{
    for arguments in '--listen 0' '--to host=/tmp' '--listen 127.0.0.1:0 --to nonsense' \
        '--listen 127.0.0.1:99999999 --to host=/tmp' '--listen 0 --to host=/tmp --n 2' \
        '--listen 0 --to host=/tmp --cut-at Bind' '--listen 0 --to host=/tmp explode' \
        '--listen 0 --to host=/tmp --script /nowhere' '--listen 0 --to host=/tmp --control /tmp' \
        '--listen 0 --to host=/tmp --control /nowhere/socket'; do
        code=0
        # shellcheck disable=SC2086
        timeout 30 "$proxy" proxy $arguments </dev/null >/dev/null 2>&1 || code=$?
        [ "$code" = 64 ] || { echo "FAILED: exit code $code of: proxy $arguments"; exit 1; }
    done
}

serve_tls()
{
    openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=localhost -days 2 \
        -keyout "$server_dir/server.key" -out "$server_dir/server.crt" 2>/dev/null
    chmod 600 "$server_dir/server.key"
    chown "$(stat -c %u "$server_dir")" "$server_dir/server.key"
    psql -qc "ALTER SYSTEM SET ssl_cert_file = '$server_dir/server.crt'" \
        -c "ALTER SYSTEM SET ssl_key_file = '$server_dir/server.key'" -c 'ALTER SYSTEM SET ssl = on'
    crash_server
    resume_server
}

# start NAME TO OPTION…: starts a proxy. $port is then its port, and orders are written to
# $orders.
start()
{
    name=$1 to=$2
    shift 2
    orders=$server_dir/$name.orders
    mkfifo "$orders"
    "$proxy" proxy --listen 127.0.0.1:0 --to "$to" "$@" <"$orders" >"$server_dir/$name.log" 2>&1 &
    proxy_pid=$!
    at_exit "kill $proxy_pid 2>/dev/null"
    exec 3>"$orders"
    wait_for 'listening on port'
    port=$(sed -n 's/^listening on port //p' "$server_dir/$name.log")
    through="host=127.0.0.1 port=$port user=postgres dbname=postgres"
}

wait_for() # words in the proxy's log
{
    deadline=$(($(date +%s) + 60))
    until grep -q -e "$1" "$server_dir/$name.log"; do
        [ "$(date +%s)" -le "$deadline" ] || failed "$name never said: $1"
        sleep 0.05
    done
}

quit()
{
    echo quit >&3
    exec 3>&-
    wait "$proxy_pid" || failed "$name ended with $?"
}

# The transaction is committed, but the client never got the answer.
loses_the_answer_to_a_commit()
{
    start commit "host=$PGHOST" --cut-at 'server CommandComplete UPDATE' --n 2 --side before
    psql -qc 'UPDATE t SET n = n + 1' "$through sslmode=disable" || failed "the first UPDATE"
    psql -qc 'UPDATE t SET n = n + 1' "$through sslmode=disable" 2>"$server_dir/psql.log" &&
        failed "the second UPDATE got its answer"
    grep -q 'server closed the connection' "$server_dir/psql.log" || failed "the connection did not end"
    [ "$(psql -qAtc 'SELECT n FROM t')" = 2 ] || failed "the UPDATE without an answer is not there"
    wait_for '^[0-9.]* s  cut before server CommandComplete UPDATE number 2'
    quit
}

obeys_orders()
{
    start orders "host=$PGHOST" 'delay 300ms'
    began=$(date +%s%N)
    psql -qc 'SELECT 1' "$through sslmode=disable" >/dev/null
    [ $(($(date +%s%N) - began)) -ge 600000000 ] || failed "nothing was late"
    echo heal >&3
    wait_for '^[0-9.]* s  delay is over'
    echo partition >&3
    wait_for '^[0-9.]* s  partition began'
    psql -qc 'UPDATE t SET n = 10' "$through sslmode=disable" &
    psql_pid=$!
    while ! { echo status >&3; sleep 0.05; tail -n 1 "$server_dir/orders.log" | grep -q 'status: 1 conn.* [1-9][0-9]* withheld'; }; do
        kill -0 "$psql_pid" 2>/dev/null || failed "a partition lets psql through"
    done
    echo heal >&3
    wait "$psql_pid" || failed "what was withheld did not arrive"
    echo nonsense >&3
    wait_for "unknown order 'nonsense'"
    { head -c 9000 /dev/zero | tr '\0' x; echo; } >&3
    wait_for 'an order is too long'
    echo 'half-open to-client for 100ms' >&3
    wait_for '^[0-9.]* s  half-open is over'
    [ "$(grep -c 'order' "$server_dir/orders.log")" = 2 ] || failed "the rest of a long order was an order"
    quit
}

# A script breaks the network at its times, and a program at its socket; both are told of in the log.
obeys_script_and_socket()
{
    printf '# a script\n100ms delay 10ms for 50ms\n0s status\n' >"$server_dir/script"
    start script "host=$PGHOST" --script "$server_dir/script" --control "$server_dir/control"
    [ "$(head -n 1 "$server_dir/script.log")" = "listening on port $port" ] || failed "the port is not first"
    wait_for '^[0-9.]* s  status: 0 connections'
    wait_for '^[0-9.]* s  delay is over'
    [ "$(stat -c %a "$server_dir/control")" = 600 ] || failed "others may connect to the socket"
    answers=$(ask_socket 'limit-data 1000' nonsense)
    echo "$answers" | grep -q '^[0-9.]* s  limit-data began$' || failed "no answer: $answers"
    echo "$answers" | grep -q "^error: unknown order 'nonsense'" || failed "no error: $answers"
    wait_for '^[0-9.]* s  limit-data began'
    # The server's greeting alone is longer than the limit.
    psql -qc "SELECT repeat('x', 2000)" "$through sslmode=disable" >/dev/null 2>&1 && failed "there was no limit"
    ask_socket heal 'slice 7 gap 0ms' >/dev/null
    [ "$(psql -qAtc "SELECT length(repeat('x', 2000))" "$through sslmode=disable")" = 2000 ] ||
        failed "pieces do not arrive"
    # The last order of standard input may lack its newline.
    printf half >&3
    exec 3>&-
    wait_for "unknown order 'half'"
    ask_socket quit >/dev/null
    wait "$proxy_pid" || failed "quit at the socket ends the proxy with $?"
    [ ! -e "$server_dir/control" ] || failed "the socket is left behind"
}

ask_socket() # orders: prints the answers
{
    python3 - "$server_dir/control" "$@" <<'PYTHON'
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.settimeout(60)
s.connect(sys.argv[1])
for order in sys.argv[2:]:
    s.sendall(order.encode() + b"\n")
    print(s.recv(65536).decode(), end="")
PYTHON
}

leaves_tls_alone()
{
    start tls "host=$address" --cut-at 'server CommandComplete SELECT'
    [ "$(psql -qAt "$through sslmode=require" \
        -c 'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()' \
        -c 'SELECT pg_sleep(0.2)')" = t ] || failed "no TLS through the proxy"
    wait_for '^[0-9.]* s  a connection is encrypted'
    quit
}

pgbench_runs_through()
{
    start pgbench "host=$PGHOST" 'delay 1ms jitter 2ms' 'throttle 1MB/s'
    PGSSLMODE=disable pgbench -h 127.0.0.1 -p "$port" -U postgres -i -s 1 postgres \
        >"$server_dir/pgbench.out" 2>&1 || failed "pgbench -i"
    PGSSLMODE=disable pgbench -h 127.0.0.1 -p "$port" -U postgres -c 4 -t 20 postgres \
        >"$server_dir/pgbench.out" 2>&1 || failed "pgbench"
    grep -q 'actually processed: 80/80' "$server_dir/pgbench.out" || failed "pgbench's transactions"
    quit
}

a_python_client_sees_the_cut()
{
    /usr/bin/python3 -c 'import psycopg2' 2>/dev/null || return 0
    start python "host=$PGHOST" 'cut-at after client Query'
    /usr/bin/python3 - "$through sslmode=disable" <<'END' || failed "the Python client"
import psycopg2, sys
try:
    psycopg2.connect(sys.argv[1]).cursor().execute("SELECT 1")
except psycopg2.OperationalError:
    db = psycopg2.connect(sys.argv[1])
    db.cursor().execute("SELECT 1")
else:
    sys.exit("there was no cut")
END
    quit
}

a_node_client_sees_the_cut()
{
    [ -d "${MAILPROOF_NODE_PG:-/nowhere}/pg" ] || return 0
    start node "host=$PGHOST" --cut-at 'client Parse'
    NODE_PATH=$MAILPROOF_NODE_PG node - "$port" <<'END' || failed "the Node client"
const { Client } = require("pg");
const ask = async () => {
    const client = new Client({ host: "127.0.0.1", port: process.argv[2], user: "postgres", database: "postgres" });
    client.on("error", () => {});
    await client.connect();
    await client.query("SELECT $1::int", [1]);
    await client.end();
};
ask().then(() => process.exit(1), () => ask().then(() => process.exit(0)));
END
    quit
}

ends_with_a_signal()
{
    start signal "host=$PGHOST"
    kill "$proxy_pid"
    wait "$proxy_pid" || failed "SIGTERM ends the proxy with $?"
    exec 3>&-
}

main
