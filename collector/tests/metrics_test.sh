#!/bin/sh
# MAILROOM_METRICS in all three forms, read by the OpenMetrics parser of prometheus-client. The
# figures are those of the database. No scraper delays mail, and a lost database does not delay a
# scraper.
set -eu

# shellcheck source=ci/private-server.sh
. "$SOURCE_DIR/ci/private-server.sh"
# shellcheck source=collector/tests/test_lib.sh
. "$SOURCE_DIR/collector/tests/test_lib.sh"

main()
{
    /usr/bin/python3 -c 'import prometheus_client' 2>/dev/null ||
        { echo "skipped: python3-prometheus-client is not installed"; exit 77; }
    start_server
    migrate
    bad_addresses_are_refused
    waiting_tokens_are_shown
    scrapers_hold_nothing_up
    a_lost_database_is_shown
    a_refused_count_is_no_count
    a_login_without_its_password_needs_attention
    a_socket_and_a_file
    a_shared_queue
    a_leased_queue
    echo "others see what it does"
}

# --- what the tests share ---------------------------------------------------------

# Prints the address at which a collector serves, from its log.
place() # name
{
    sed -n 's/.*\[METRICS\] served at \(the socket \)\{0,1\}//p' "$server_dir/$1.log"
}

scrape() # name, and a line of ci/openmetrics to wait for
{
    has_logged "$1" "served at"
    scraped=$(place "$1")
    shift
    "$SOURCE_DIR/ci/openmetrics" "$scraped" "$@" >"$server_dir/scraped"
}

shown() # sample: its value in the last scrape; "" when it is not there
{
    while IFS= read -r shown_line; do
        case $shown_line in
        "$1 "*) echo "${shown_line#"$1 "}" ;;
        esac
    done <"$server_dir/scraped"
}

# The database is asked at most every 5 s, so older figures may come first.
until_shown() # name, sample, value
{
    scrape "$1" "$2 $3" || failed "$1 never showed $2 as $3, but '$(shown "$2")'"
}

# --- the tests --------------------------------------------------------------------

bad_addresses_are_refused()
{
    for address in nowhere 127.0.0.1 127.0.0.1:99999 "$server_dir/no/such/socket" \
        "$server_dir/no/such/file.prom"; do
        MAILROOM_METRICS=$address run refused
        ends refused none 78
        grep -q "MAILROOM_METRICS: .*$address" "$server_dir/refused.log" ||
            failed "the refusal of $address does not name it"
    done
    MAILROOM_METRICS=127.0.0.1:0 run first
    has_logged first 'served at'
    taken=$(place first | sed 's,http://\(.*\)/metrics,\1,')
    MAILROOM_METRICS=$taken run refused
    ends refused none 78
    ends first TERM 0
}

waiting_tokens_are_shown()
{
    add_accounts 1 25
    MAILROOM_METRICS=127.0.0.1:0 MAILROOM_BATCH_TIMEOUT=600000 MAILROOM_HEALTHCHECK_INTERVAL=600000 \
        run waits
    has_logged waits collecting
    until_true "SELECT $waiting_tokens = 0"
    # A short batch waits for its timeout.
    add_accounts 26 32
    until_shown waits 'mailroom_backlog{state="scheduled"}' 7
    same "the database agrees" 7 "$(sql "SELECT count(*) FROM mailroom_untaken('mailroom')")"
    same "written" 25 "$(shown 'mailroom_tokens_written_total{}')"
    same "confirmed" 25 "$(shown 'mailroom_tokens_total{outcome="written"}')"
    same "full batches" 2 "$(shown 'mailroom_batches_total{reason="full"}')"
    same "the rest at the start" 1 "$(shown 'mailroom_batches_total{reason="start"}')"
    same "connected" 1 "$(shown 'mailroom_connected{}')"
    same "collecting" 1 "$(shown 'mailroom_collecting{}')"
    same "no retries in this mode" "" "$(shown 'mailroom_retries_total{}')"
    # One token becomes older than it was, and others cease to wait.
    sql "UPDATE tokens SET created_at = created_at - 1000 WHERE id = 30;
         UPDATE tokens SET consumed_at = 1 WHERE id IN (27, 28);
         UPDATE tokens SET expires_at = 1 WHERE id = 29"
    add_accounts 33 33
    until_shown waits 'mailroom_backlog{state="scheduled"}' 8
    [ "$(shown 'mailroom_oldest_token_age_seconds{}' | cut -d. -f1)" -ge 1000 ] ||
        failed "the oldest token is not shown"
    add_accounts 34 38
    drained
    until_shown waits 'mailroom_tokens_total{outcome="consumed"}' 2
    # Those of the start count only as written; the others waited for each other, some for long.
    same "waiting times" 10 "$(shown 'mailroom_wait_seconds_count{}')"
    same "all waiting times" 10 "$(shown 'mailroom_wait_seconds_bucket{le="+Inf"}')"
    same "too soon" 0 "$(shown 'mailroom_wait_seconds_bucket{le="0.005"}' | sed 's/^[0-6]$/0/')"
    same "expired unsent" 1 "$(shown 'mailroom_tokens_total{outcome="expired"}')"
    until_shown waits 'mailroom_backlog{state="scheduled"}' 0
    same "nothing waits" 0 "$(shown 'mailroom_oldest_token_age_seconds{}')"
    ends waits TERM 0
}

# Silent clients take all places, others connect again and again, and one reads nothing.
scrapers_hold_nothing_up()
{
    MAILROOM_METRICS=127.0.0.1:0 run crowded
    has_logged crowded collecting
    before=$(sql 'SELECT count(*) FROM accounts')
    /usr/bin/python3 - "$(place crowded)" <<'PYTHON' &
import socket, sys, urllib.parse
at = urllib.parse.urlparse(sys.argv[1])
held = []
while True:
    s = socket.create_connection((at.hostname, at.port))
    s.settimeout(0.01)
    held = [s] + held[:30]
    if len(held) % 2:
        s.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
PYTHON
    crowd=$!
    at_exit "kill -KILL $crowd 2>/dev/null"
    for n in 1 2 3 4 5 6 7 8; do
        add_accounts $((before + 50 * n - 49)) $((before + 50 * n))
        drained
    done
    kill -KILL "$crowd"
    wait "$crowd" 2>/dev/null || true
    until_shown crowded 'mailroom_tokens_written_total{}' 400
    ends crowded TERM 0
}

a_lost_database_is_shown()
{
    MAILROOM_METRICS=127.0.0.1:0 run orphan
    until_shown orphan 'mailroom_collecting{}' 1
    until_shown orphan 'mailroom_backlog{state="scheduled"}' 0
    crash_server
    until_shown orphan 'mailroom_connected{}' 0
    same "collecting" 0 "$(shown 'mailroom_collecting{}')"
    [ "$(shown 'mailroom_reconnects_total{reason="ended"}')" -ge 1 ] || failed "no loss is counted"
    resume_server
    until_shown orphan 'mailroom_collecting{}' 1
    until_shown orphan 'mailroom_look_age_seconds{}' 0
    # The loss of the session that asks for the figures delays no mail.
    sql "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
         WHERE application_name = 'mailroom metrics'" >/dev/null
    add_accounts 9001 9003
    drained
    ends orphan TERM 0
}

a_refused_count_is_no_count()
{
    sql "REVOKE SELECT ON deliveries FROM mailroom_collector"
    MAILROOM_METRICS=127.0.0.1:0 run blind
    until_shown blind 'mailroom_collecting{}' 1
    scrape blind # the look has a session only now
    has_logged blind "some figures of MAILROOM_METRICS are missing"
    scrape blind
    same "backlog" "" "$(shown 'mailroom_backlog{state="scheduled"}')"
    same "age of the backlog" "" "$(shown 'mailroom_look_age_seconds{}')"
    ends blind TERM 0
    sql "GRANT SELECT ON deliveries TO mailroom_collector"
}

# The server asks for a password. That there is none is found by libpq, that it is wrong by the server.
a_login_without_its_password_needs_attention()
{
    cp -p "$server_dir/data/pg_hba.conf" "$server_dir/hba"
    sed -i '1i local all collector scram-sha-256' "$server_dir/data/pg_hba.conf"
    sql "ALTER ROLE collector PASSWORD 'right'" && sql 'SELECT pg_reload_conf()' >/dev/null
    for password in '' wrong; do
        MAILROOM_METRICS=127.0.0.1:0 PGPASSWORD=$password run stranger
        has_logged stranger 'until somebody corrects it'
        scrape stranger || failed "stranger serves no OpenMetrics"
        [ "$(shown 'mailroom_reconnects_total{reason="needs_attention"}')" -ge 1 ] ||
            failed "no loss needs attention with password '$password'"
        same "refused with password '$password'" 0 "$(shown 'mailroom_reconnects_total{reason="refused"}')"
        ends stranger TERM 0
    done
    cp -p "$server_dir/hba" "$server_dir/data/pg_hba.conf"
    sql 'SELECT pg_reload_conf()' >/dev/null
}

a_socket_and_a_file()
{
    MAILROOM_METRICS=$server_dir/metrics run socket
    until_shown socket 'mailroom_collecting{}' 1
    ends socket KILL 137
    MAILROOM_METRICS=$server_dir/metrics run socket
    until_shown socket 'mailroom_collecting{}' 1
    ends socket TERM 0
    [ ! -e "$server_dir/metrics" ] || failed "the socket is left behind"

    MAILROOM_METRICS=$server_dir/mailroom.prom run file
    has_logged file collecting
    lib_deadline=$(($(date +%s) + 90))
    until grep -q '^mailroom_backlog{state="scheduled"} 0$' "$server_dir/mailroom.prom"; do
        [ "$(date +%s)" -le "$lib_deadline" ] || failed "the file does not tell what waits"
        sleep 0.2
    done
    "$SOURCE_DIR/ci/openmetrics" "$server_dir/mailroom.prom" >"$server_dir/scraped" ||
        failed "the file is no OpenMetrics"
    same "connected, in the file" 1 "$(shown 'mailroom_connected{}')"
    ends file TERM 0
    [ ! -e "$server_dir/mailroom.prom" ] || failed "the file is left behind"
}

switch_to() # mode
{
    MAILROOM_DATABASE_URL="host=$PGHOST user=postgres dbname=$PGDATABASE" MAILROOM_DEQUEUE=$1 \
        run switch --switch-mode
    ends switch none 0
    export MAILROOM_DEQUEUE="$1"
}

a_shared_queue()
{
    switch_to shared
    MAILROOM_METRICS=127.0.0.1:0 run shared
    has_logged shared collecting
    add_accounts 10001 10025
    drained
    until_shown shared 'mailroom_tokens_total{outcome="written"}' 25
    until_shown shared 'mailroom_backlog{state="leased"}' 0
    [ "$(shown 'mailroom_wait_seconds_count{}')" -ge 10 ] || failed "no waiting time of shared mode"
    same "mode" 1 "$(shown 'mailroom_collector{mode="shared",queue="mailroom",version="'"$(version)"'"}')"
    ends shared TERM 0
}

version()
{
    sed -n 's/^project(mailproof VERSION \([0-9.]*\) .*/\1/p' "$SOURCE_DIR/CMakeLists.txt"
}

# The sender answers three tokens of the first line: the first is sent, the second is to come later,
# the third never. It answers the others when it is told to, because the collector begins no second
# line before, and nothing after that. A sixth token expires before it is taken.
a_leased_queue()
{
    switch_to leased
    add_accounts 11001 11006
    sql "UPDATE tokens SET expires_at = 1 WHERE id = (SELECT max(id) FROM tokens)"
    cat >"$server_dir/sender" <<'SENDER'
#!/bin/sh
read -r line
echo "1.1 sent"
echo "1.2 error transient 450 later"
echo "1.3 error permanent 550 never"
read -r line <"${0%/*}/go_on"
printf '1.4 sent\n1.5 sent\n'
while read -r line; do :; done
SENDER
    chmod +x "$server_dir/sender"
    mkfifo "$server_dir/go_on"
    MAILROOM_METRICS=127.0.0.1:0 MAILROOM_RETRY_BASE=86400000 MAILROOM_RETRY_MAX=86400000 \
        MAILROOM_BUDGET=0.000001/s MAILROOM_BURST=50 MAILROOM_DAILY=40 \
        run leased -- "$server_dir/sender"
    until_shown leased 'mailroom_tokens_total{outcome="retry"}' 1
    until_shown leased 'mailroom_backlog{state="retry"}' 1
    same "sent" 1 "$(shown 'mailroom_tokens_total{outcome="sent"}')"
    same "dead" 1 "$(shown 'mailroom_tokens_total{outcome="dead"}')"
    same "expired" 1 "$(shown 'mailroom_tokens_total{outcome="expired"}')"
    same "lines without an answer" 1 "$(shown 'mailroom_lines_unanswered{}')"
    same "lines, by any reason" 1 \
        "$(awk '/^mailroom_batches_total/ { n += $NF } END { print n }' "$server_dir/scraped")"
    same "sender" 1 "$(shown 'mailroom_sender_starts_total{}')"
    until_shown leased 'mailroom_budget_left{}' 45
    same "today" 35 "$(shown 'mailroom_budget_left_today{}')"
    same "leased" 2 "$(shown 'mailroom_backlog{state="leased"}')"
    echo >"$server_dir/go_on"
    add_accounts 11007 11011
    until_shown leased 'mailroom_wait_seconds_count{}' 5
    ends leased TERM 75
}

main
