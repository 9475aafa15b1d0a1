# shellcheck shell=sh
# Functions that the collector's shorter tests share. They source it after ci/private-server.sh.
# A collector has a name; its lines are in $server_dir/NAME.out, its log in
# $server_dir/NAME.log. It runs as the least privileged role.

export MAILROOM_SECRET_KEY=000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f
export MAILROOM_BATCH_LIMIT=10 MAILROOM_BATCH_TIMEOUT=20 MAILROOM_HEALTHCHECK_INTERVAL=1000

failed() # sentence
{
    echo "FAILED: $1"
    for lib_log in "$server_dir"/*.log; do
        echo "--- $lib_log"
        tail -n 15 "$lib_log"
    done
    exit 1
}

same() # what, expected, got
{
    [ "$2" = "$3" ] || failed "$1: expected '$2', got '$3'"
}

sql() # statements
{
    lib_code=0
    server_ask "$1" || lib_code=$?
    printf %s "$server_answer"
    return "$lib_code"
}

until_true() # query
{
    server_says_true "$1" || failed "never came true: $1"
}

# Applies all migrations to $PGDATABASE and makes the login role `collector`.
migrate()
{
    open_server_session || true
    set --
    for lib_file in "$SOURCE_DIR"/migrations/*.up.sql; do
        set -- "$@" -f "$lib_file"
    done
    psql -v ON_ERROR_STOP=1 -qX "$@" >/dev/null 2>"$server_dir/migrate.log" || failed "the migrations"
    [ "$(sql "SELECT count(*) FROM pg_roles WHERE rolname = 'collector'")" = 1 ] ||
        sql "CREATE ROLE collector LOGIN IN ROLE mailroom_collector"
    export MAILROOM_DATABASE_URL="host=$PGHOST user=collector dbname=$PGDATABASE"
}

# Tokens that no cursor has taken, or that were taken and are not confirmed.
waiting_tokens="(SELECT count(*) FROM mailroom_untaken('mailroom'))
    + (SELECT coalesce(sum(cardinality(tokens)), 0) FROM deliveries)"

drained()
{
    until_true "SELECT $waiting_tokens = 0"
}

add_accounts() # first, last
{
    sql "INSERT INTO accounts (email, login) SELECT 'u' || n || '@x', 'u' || n
         FROM generate_series($1, $2) n"
}

# Starts a host that takes connections and never answers. Sets $silent, its name, and $silent_pid.
start_silent_host()
{
    silent=$server_dir/silent
    mkdir "$silent"
    python3 -c 'import signal, socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen()
signal.pause()' "$silent/.s.PGSQL.${PGPORT:-5432}" &
    silent_pid=$!
    at_exit "kill $silent_pid 2>/dev/null || true"
    until [ -S "$silent/.s.PGSQL.${PGPORT:-5432}" ]; do sleep 0.05; done
}

run() # name, arguments
{
    lib_name=$1
    shift
    : >"$server_dir/$lib_name.log"
    "$BUILD_DIR/bin/mailroom-collector" "$@" >"$server_dir/$lib_name.out" \
        2>"$server_dir/$lib_name.log" &
    at_exit "kill -KILL $! 2>/dev/null"
    as_word "$lib_name"
    eval "pid_$lib_word=$!"
}

pid_of() # name
{
    as_word "$1"
    eval "echo \$pid_$lib_word"
}

# Sets $lib_word to the name with _ for each -.
as_word() # name
{
    lib_word=$1
    while [ "$lib_word" != "${lib_word#*-}" ]; do lib_word=${lib_word%%-*}_${lib_word#*-}; done
}

has_logged() # name, text
{
    lib_looks=0 # 20 a second: asking `date` is a process more
    as_word "$1"
    eval "lib_pid=\${pid_$lib_word-}"
    until grep -qF "$2" "$server_dir/$1.log"; do
        [ "$lib_looks" -lt 1200 ] || failed "$1 never said: $2"
        kill -0 "$lib_pid" 2>/dev/null || grep -qF "$2" "$server_dir/$1.log" ||
            failed "$1 ended and did not say: $2"
        lib_looks=$((lib_looks + 1))
        sleep 0.05
    done
}

ends() # name, signal (or none), exit code, or several with | between them
{
    lib_code=0
    [ "$2" = none ] || kill -"$2" "$(pid_of "$1")"
    wait "$(pid_of "$1")" 2>/dev/null || lib_code=$?
    case "|$3|" in
    *"|$lib_code|"*) ;;
    *) same "exit code of $1 after $2" "$3" "$lib_code" ;;
    esac
}

# Prints how many tokens the lines of these collectors hold, and how many distinct ones.
tokens() # names
{
    for name in "$@"; do
        # The last line has no end, so it was never delivered; or it is the one that we add.
        { cat "$server_dir/$name.out"; echo; } | sed '$d'
    done | awk -F, '{ for (i = 2; i <= NF; i += 5) { all++; if (!seen[$i]++) distinct++ } }
        END { print all + 0, distinct + 0 }'
}

# Starts a collector that writes to a pipe. Descriptor 5 keeps the pipe open, and nobody reads.
run_unread() # name
{
    mkfifo "$server_dir/$1.fifo"
    exec 5<>"$server_dir/$1.fifo"
    : >"$server_dir/$1.log"
    "$BUILD_DIR/bin/mailroom-collector" >"$server_dir/$1.fifo" 2>"$server_dir/$1.log" &
    eval "pid_$1=$!"
    at_exit "kill -KILL $! 2>/dev/null"
    has_logged "$1" "in shared mode"
}

# Begins to read what such a collector writes. Sets `reader`, for which the caller waits.
read_all_of() # name
{
    exec 6<"$server_dir/$1.fifo" 5>&-
    cat <&6 >"$server_dir/$1.out" &
    reader=$!
    exec 6<&-
}

# From here on nobody can confirm a line, until let_go.
hold_confirming()
{
    hold "DELETE ON deliveries FOR EACH ROW"
}

# From here on nobody can give a row back, until let_go.
hold_giving_back()
{
    hold "UPDATE OF owner ON deliveries FOR EACH ROW WHEN (NEW.owner = 0)"
}

hold() # event of a trigger
{
    sql "CREATE FUNCTION wait_for_test() RETURNS trigger LANGUAGE plpgsql AS
             'BEGIN PERFORM pg_advisory_xact_lock_shared(4711); RETURN coalesce(NEW, OLD); END';
         CREATE TRIGGER held BEFORE $1 EXECUTE FUNCTION wait_for_test()"
    rm -f "$server_dir/hold"
    mkfifo "$server_dir/hold"
    psql -qAtX <"$server_dir/hold" >/dev/null &
    exec 7>"$server_dir/hold"
    echo "SELECT pg_advisory_lock(4711);" >&7
    until_true "SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND objid = 4711"
}

one_waits="SELECT count(*) = 1 FROM pg_locks
    WHERE locktype = 'advisory' AND objid = 4711 AND NOT granted"

who_waits()
{
    sql "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objid = 4711 AND NOT granted"
}

let_go()
{
    printf '\\q\n' >&7 # a collector may have inherited the descriptor
    exec 7>&-
    until_true "SELECT count(*) = 0 FROM pg_locks
        WHERE locktype = 'advisory' AND objid = 4711 AND mode = 'ExclusiveLock' AND granted"
    sql "DROP TRIGGER held ON deliveries; DROP FUNCTION wait_for_test()"
}

end_sessions()
{
    ended=$(sql "SELECT coalesce(string_agg(pid::text, ', ') FILTER (WHERE pg_terminate_backend(pid)), '0')
        FROM pg_stat_activity WHERE usename = 'collector'")
    # Wait for these only: the collector soon has others.
    until_true "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid IN ($ended)"
}

# Notes what is paid, and when by the clock of the budget. A token may be leased, or sent, later.
note_spending()
{
    sql "CREATE TABLE spent (at timestamptz, tokens bigint);
         CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS
             'BEGIN INSERT INTO public.spent VALUES (NEW.at, NEW.today - OLD.today); RETURN NEW; END';
         CREATE TRIGGER note AFTER UPDATE ON budgets FOR EACH ROW EXECUTE FUNCTION note()"
}

# Judges each window between two payments, and stops taking notes.
spending_was_within() # burst, tokens a second
{
    [ "$(sql "SELECT sum(tokens) FROM spent")" -gt "$1" ] || failed "too little was spent to judge it"
    same "windows that saw too many" 0 "$(sql "
        SELECT count(*) FROM spent AS a, spent AS b
        WHERE b.at >= a.at
          AND (SELECT sum(tokens) FROM spent AS c WHERE c.at BETWEEN a.at AND b.at)
              > $1 + $2 * extract(epoch FROM b.at - a.at) + 0.5")"
    sql "DROP TABLE spent; DROP FUNCTION note CASCADE"
}
