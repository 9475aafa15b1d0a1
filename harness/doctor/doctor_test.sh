#!/bin/sh
# Tests each thing that doctor looks for, on a server or behind a pooler that has just
# this one fault. Poolers, proxies and clocks that are not installed are left out by name.
set -eu

# shellcheck source=ci/private-server.sh
. "$SOURCE_DIR/ci/private-server.sh"

failed()
{
    echo "FAILED: $*" >&2
    exit 1
}

# doctor NAME EXIT CONNINFO: runs doctor and keeps its output in $server_dir/NAME.
doctor()
{
    got=0
    "$BUILD_DIR/bin/mailproof" doctor "$3" >"$server_dir/$1.txt" 2>&1 || got=$?
    [ "$got" = "$2" ] || {
        cat "$server_dir/$1.txt" >&2
        failed "$1: exit code $got instead of $2"
    }
}

# says NAME TEXT…: checks that doctor's output has each text.
says()
{
    name=$1
    shift
    for text; do
        grep -qF -- "$text" "$server_dir/$name.txt" || {
            cat "$server_dir/$name.txt" >&2
            failed "$name does not say '$text'"
        }
    done
}

# until_asked PORT: waits until a server answers SQL on this port.
until_asked()
{
    deadline=$(($(date +%s) + 30))
    until psql -h "$server_dir" -p "$1" -qAtXc 'SELECT 1' >/dev/null 2>&1; do
        [ "$(date +%s)" -le "$deadline" ] || failed "nothing answers at port $1"
        sleep 0.05
    done
}

# This server is behind the poolers and proxies. HAProxy needs TCP. start_server opens no port,
# so the server starts again with one.
healthy()
{
    start_server
    kill -INT "$server_pid"
    wait "$server_pid" || true
    server_settings="-c listen_addresses=127.0.0.1 -c port=$port -c max_connections=40 -c fsync=on"
    export PGPORT="$port"
    resume_server
    here="host=$server_dir port=$port user=postgres dbname=postgres"
}

alone()
{
    doctor good 0 "$here"
    says good 'ok      locks' 'ok      notifications' 'ok      durability' 'ok      clock' \
        'started' 'the tables are not there yet' 'ok      owner          nothing to look at' \
        'ok      functions      nothing to look at'
    [ "$(psql -qAtc "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace")" = 0 ] ||
        failed "doctor left something behind"
    doctor settings 1 "$here options='-c synchronous_commit=off -c idle_session_timeout=60s -c statement_timeout=1s'"
    says settings 'synchronous_commit is off' 'idle_session_timeout is 60000 ms' 'statement_timeout is 1000 ms'
    doctor read-only 1 "$here options='-c default_transaction_read_only=on'"
    says read-only 'transactions are read-only here'
    doctor hosts 1 "host=$server_dir,$server_dir port=$port,$port user=postgres dbname=postgres"
    says hosts 'target_session_attrs=read-write'
}

# Applies the migrations from FIRST to LAST.
migrate()
{
    for file in "$SOURCE_DIR"/migrations/*.up.sql; do
        number=${file##*/}
        number=${number%%_*}
        [ "$number" -lt "$1" ] || [ "$number" -gt "$2" ] ||
            psql -q -v ON_ERROR_STOP=1 -f "$file" >"$server_dir/migrate.txt" 2>&1 || failed "$file"
    done
}

migrations()
{
    migrate 000001 000003
    doctor early 1 "$here"
    says early 'BREAKS  schema' 'migrations/000004_commit_safe_cursor.up.sql is missing' \
        'apply it and those after it'
    psql -qc 'CREATE DATABASE fresh'
    psql -qd fresh -c 'GRANT CREATE ON SCHEMA public TO PUBLIC'
    doctor fresh 1 "$here dbname=fresh"
    says fresh 'BREAKS  creators' 'PUBLIC may create objects'
    migrate 000004 000018
    doctor midway 1 "$here"
    says midway '000019_outcome.up.sql is missing'
    migrate 000019 999999
    doctor migrated 0 "$here"
    says migrated 'ok      schema' 'ok      encoding' 'ok      creators' 'ok      owner' 'ok      functions'
    psql -qc 'GRANT CREATE ON SCHEMA public TO PUBLIC' -c "CREATE DATABASE latin ENCODING LATIN1 LOCALE 'C' TEMPLATE template0"
    doctor open 1 "$here"
    says open 'BREAKS  creators' 'PUBLIC may create objects' 'REVOKE CREATE ON SCHEMA public FROM PUBLIC;'
    psql -qc 'REVOKE CREATE ON SCHEMA public FROM PUBLIC'
    doctor latin 1 "$here dbname=latin"
    says latin 'BREAKS  encoding' 'is LATIN1'
}

# A dump that was restored without owners and rights, an owner who logs in, and row security.
functions()
{
    psql -qc 'CREATE ROLE migrator LOGIN' -c 'ALTER FUNCTION mailroom_read OWNER TO migrator' \
        -c 'ALTER FUNCTION mailroom_take OWNER TO postgres'
    doctor owners 1 "$here"
    says owners 'note    owner' 'migrator (who logs in), postgres (a superuser)' 'SELECT mailroom_secure()' \
        'BREAKS  functions' 'migrator may not use accounts'
    psql -qc 'SELECT mailroom_secure()' -c 'REVOKE SELECT ON tokens FROM mailroom_owner' \
        -c 'REVOKE EXECUTE ON FUNCTION mailroom_untaken FROM mailroom_owner' >/dev/null
    doctor lacking 1 "$here"
    says lacking 'ok      owner' 'mailroom_owner may not call mailroom_untaken'
    psql -qc 'SELECT mailroom_secure()' -c 'DROP ROLE migrator' -c 'ALTER ROLE mailroom_owner NOBYPASSRLS' \
        -c 'ALTER TABLE accounts ENABLE ROW LEVEL SECURITY' >/dev/null
    doctor hidden 1 "$here"
    says hidden 'BREAKS  functions' 'row security may hide rows of accounts'
    psql -qc 'SELECT mailroom_secure()' >/dev/null
    doctor shown 0 "$here"
    psql -qc 'ALTER TABLE accounts DISABLE ROW LEVEL SECURITY'
}

rights()
{
    psql -qc 'CREATE ROLE nobody_much LOGIN' -c 'REVOKE CREATE ON SCHEMA public FROM PUBLIC'
    doctor no-rights 1 "host=$server_dir port=$port user=nobody_much dbname=postgres"
    says no-rights 'this role may not create any' 'may not make databases and roles' 'CREATE EXTENSION pgcrypto' \
        'GRANT CREATE ON SCHEMA public TO nobody_much;' 'ALTER ROLE nobody_much CREATEDB CREATEROLE;' \
        'a collector in this database: 2 problems; a run: none, but it needs another role;'
    migrations
    doctor no-grant 1 "host=$server_dir port=$port user=nobody_much dbname=postgres"
    says no-grant 'may not read tokens and move the cursor'
    psql -qc 'GRANT mailroom_collector TO nobody_much'
    functions
    doctor granted 0 "host=$server_dir port=$port user=nobody_much dbname=postgres"
    says granted "this is a collector's role" 'no problems'
    ! grep -q 'ALTER ROLE' "$server_dir/granted.txt" || failed "a collector's role is told to take more rights"
    doctor crowded 1 "$here dbname=nowhere"
    says crowded 'BREAKS  connection' 'nowhere'
    secret=open-sesame
    doctor secret 1 "$here password=$secret dbname=nowhere"
    ! grep -q "$secret" "$server_dir/secret.txt" || failed "a password is shown"
}

unusable()
{
    doctor usage 64 'host=a nonsense'
    doctor away 1 "host=$server_dir port=1 user=postgres"
    says away 'BREAKS  connection'
}

poolers()
{
    pgbouncer=$(command -v pgbouncer || ls /usr/sbin/pgbouncer 2>/dev/null) || {
        echo "left out: pgbouncer is not installed"
        return
    }
    number=$((port + 1))
    for mode in session transaction statement; do
        cat >"$server_dir/$mode.ini" <<END
[databases]
postgres = host=$server_dir port=$port dbname=postgres user=postgres
[pgbouncer]
listen_addr =
listen_port = $number
unix_socket_dir = $server_dir
auth_type = any
pool_mode = $mode
END
        chmod 644 "$server_dir/$mode.ini"
        (exec_as_server_user "$pgbouncer" -q "$server_dir/$mode.ini") >"$server_dir/$mode.log" 2>&1 &
        at_exit "kill $! 2>/dev/null"
        until_asked "$number"
        eval "$mode=$number"
        number=$((number + 1))
    done
    # shellcheck disable=SC2154 # set by eval
    {
        doctor session 0 "host=$server_dir port=$session user=postgres dbname=postgres"
        says session 'there is a pooler in front of the server' 'ok      notifications'
        doctor transaction 1 "host=$server_dir port=$transaction user=postgres dbname=postgres"
        says transaction 'session locks are not kept' 'a notification does not arrive'
        doctor statement 1 "host=$server_dir port=$statement user=postgres dbname=postgres"
        says statement 'a transaction of several statements is refused'
    }
}

proxies()
{
    haproxy=$(command -v haproxy || ls /usr/sbin/haproxy 2>/dev/null) || {
        echo "left out: haproxy is not installed"
        return
    }
    front=$((port + 5))
    cat >"$server_dir/haproxy.cfg" <<END
defaults
    mode tcp
    timeout connect 5s
    timeout client 60s
    timeout server 60s
listen postgres
    bind 127.0.0.1:$front
    server one 127.0.0.1:$port
END
    "$haproxy" -q -db -f "$server_dir/haproxy.cfg" >"$server_dir/haproxy.log" 2>&1 &
    at_exit "kill $! 2>/dev/null"
    deadline=$(($(date +%s) + 30))
    until psql -h 127.0.0.1 -p "$front" -qAtXc 'SELECT 1' >/dev/null 2>&1; do
        [ "$(date +%s)" -le "$deadline" ] || failed "haproxy does not answer: $(cat "$server_dir/haproxy.log")"
        sleep 0.05
    done
    doctor haproxy 0 "host=127.0.0.1 port=$front user=postgres dbname=postgres"
    says haproxy 'a proxy forwards the connection' 'ok      locks'
}

standby()
{
    (exec_as_server_user "$server_bindir/pg_basebackup" -h "$server_dir" -p "$port" -U postgres \
        -D "$server_dir/standby" -R -c fast --no-sync) >"$server_dir/backup.log" 2>&1 || {
        cat "$server_dir/backup.log" >&2
        failed "no base backup"
    }
    (exec_as_server_user "$server_bindir/postgres" -D "$server_dir/standby" -k "$server_dir" \
        -c listen_addresses= -c "port=$((port + 6))" -c max_connections=40 -c fsync=off) >"$server_dir/standby.log" 2>&1 &
    at_exit "kill -QUIT $! 2>/dev/null; wait $! 2>/dev/null"
    until_asked $((port + 6))
    doctor standby 1 "host=$server_dir port=$((port + 6)) user=postgres dbname=postgres"
    says standby 'this is a standby' 'LISTEN is refused' 'BREAKS  durability     fsync is off'
}

# libfaketime gives one server a clock of its own.
clocks()
{
    faketime=$(command -v faketime) || {
        echo "left out: faketime is not installed"
        return
    }
    (exec_as_server_user cp -R "$server_dir/standby" "$server_dir/late")
    rm -f "$server_dir/late/postmaster.pid"
    (exec_as_server_user "$faketime" -f '-3600s' "$server_bindir/postgres" -D "$server_dir/late" -k "$server_dir" \
        -c listen_addresses= -c "port=$((port + 7))" -c max_connections=40) >"$server_dir/late.log" 2>&1 &
    # faketime waits for the server, so the signal must go to the server's own pid.
    at_exit "kill -QUIT \$(head -n 1 '$server_dir/late/postmaster.pid') 2>/dev/null; wait $! 2>/dev/null"
    until_asked $((port + 7))
    doctor late 1 "host=$server_dir port=$((port + 7)) user=postgres dbname=postgres"
    says late "the server's clock is -3600 s from ours"
}

# Eight ports in a row; other tests use other ranges.
port=$((20000 + $$ % 1000 * 8))
healthy
alone
rights
unusable
poolers
proxies
standby
clocks
echo "doctor names what it should"
