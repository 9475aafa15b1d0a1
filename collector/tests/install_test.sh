#!/bin/sh
# The commands of INSTALL.md, as they stand there, up to the first mail: migrations, role, key, settings,
# and the unit's command line. The mail server is Debian's Postfix. Then 1,500 accounts come, while
# collector, sender, PostgreSQL and Postfix are killed; each mail must reach the Maildir, and one that
# comes twice has the same Message-ID.
set -eu

# shellcheck source=ci/private-server.sh
. "$SOURCE_DIR/ci/private-server.sh"
# shellcheck source=collector/tests/test_lib.sh
. "$SOURCE_DIR/collector/tests/test_lib.sh"
# shellcheck source=collector/tests/postfix_lib.sh
. "$SOURCE_DIR/collector/tests/postfix_lib.sh"
unset MAILROOM_SECRET_KEY MAILROOM_BATCH_LIMIT MAILROOM_BATCH_TIMEOUT MAILROOM_HEALTHCHECK_INTERVAL

[ "$(id -u)" -eq 0 ] || { echo "skipped: Postfix needs root"; exit 77; }
postfix=$BUILD_DIR/postfix
[ -x "$postfix/usr/sbin/postfix" ] || { echo "skipped: no Postfix (ci/unpack postfix $postfix)"; exit 77; }
accounts=1500

# Prints the shell commands of the guide's n-th step, with our places for those of a whole machine. They
# stay indented: who pastes them from the file, as the package has it, pastes them so.
step() # number
{
    awk -v wanted="$1." '/^[0-9]+\. / { at = $1 } /^ *```/ { on = /```sh/ && at == wanted; next } on' \
        "$SOURCE_DIR/collector/INSTALL.md" | sed \
        -e "s#/usr/share/mailproof/migrations#$SOURCE_DIR/migrations#" \
        -e "s#/etc/mailroom#$server_dir/mailroom#g" -e "s#host=localhost dbname#host=$PGHOST dbname#" \
        -e "s#localhost:25 #localhost:$mail_port #" -e '/^ *MAILROOM_METRICS=/d'
}

# A port that nobody has at this moment.
free_port()
{
    python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])'
}

# Starts what the unit starts, with what the unit sets; systemd's %d is the folder of the credentials.
start_as_the_unit()
{
    unit="$SOURCE_DIR/collector/mailroom-collector@.service"
    (
        export MAILROOM_SECRET_KEY_FILE="$server_dir/mailroom/main/key"
        for setting in $(sed -n 's/^Environment=//p' "$unit"); do
            case $setting in *%*) ;; *) export "${setting?}" ;; esac
        done
        set -a # as systemd reads the file, so does a shell
        # shellcheck disable=SC1091 # it is made here
        . "$server_dir/mailroom/main.env"
        set +a
        export PATH="$BUILD_DIR/bin:$PATH"
        # shellcheck disable=SC2046 # the command has no blanks inside of a word
        exec $(sed -n 's#^ExecStart=/usr/bin/##p' "$unit" | sed 's#/usr/bin/##g')
    ) >>"$server_dir/collector.log" 2>&1 &
    collector=$!
}

# As Restart=on-failure does.
kill_collector()
{
    kill -KILL "$collector"
    wait "$collector" 2>/dev/null || true
    start_as_the_unit
}

kill_sender()
{
    for sender in $(pgrep -P "$(pgrep -d, -P "$collector"),$collector" -x mailroom-sender); do
        kill -KILL "$sender"
    done
}

mails()
{
    find "$mail_home/mails" -type f -path '*/new/*'
}

# Waits until at least this many tokens have reached an end.
sent_are() # number
{
    until_true "SELECT count(*) >= $1 FROM mailroom_status WHERE state = 'sent'"
}

start_server -c fsync=on
# As Debian's rules, a role other than the server's own needs its password.
printf 'local all postgres trust\nlocal all all scram-sha-256\n' >"$server_dir/data/pg_hba.conf"
psql -qc 'SELECT pg_reload_conf()' >/dev/null
export PGDATABASE=mail
mail_port=$(free_port)
# Not inside of $server_dir, which only the server's user may enter.
mail_home=$(mktemp -d /var/tmp/mailproof-mail.XXXXXX)
at_exit 'stop_postfix; rm -rf "$mail_home"'
start_postfix "$postfix" "$mail_home" "$mail_port" || failed "Postfix does not start"
for number in 2 3 4 5; do
    step "$number" >"$server_dir/step"
    [ -s "$server_dir/step" ] || failed "INSTALL.md has no step $number"
    # shellcheck disable=SC1091 # it is made here
    . "$server_dir/step"
done
step 6 >"$server_dir/step"
PATH="$BUILD_DIR/bin:$PATH" sh "$server_dir/step" >"$server_dir/doctor.log" || failed "doctor: $(cat "$server_dir/doctor.log")"
start_as_the_unit
at_exit 'kill -TERM "$collector" 2>/dev/null; wait "$collector" 2>/dev/null || true'
step 8 >"$server_dir/step"
sh "$server_dir/step" >/dev/null
sent_are 1
step 9 >"$server_dir/step"
sh "$server_dir/step" | grep -q ' sent *| *1 |' || failed "step 9 does not show the mail: $(sh "$server_dir/step")"
echo "the guide leads to the first mail"

sql "INSERT INTO accounts (email, login) SELECT 'u' || n || '@x.example', 'u' || n
     FROM generate_series(1, $accounts) n"
sent_are 200
kill_collector
sent_are 500
kill_sender
sent_are 700
crash_server
resume_server
sent_are 900
stop_postfix
start_postfix "$postfix" "$mail_home" "$mail_port" || failed "Postfix does not start again"
sent_are 1100
kill_collector
kill_sender
sent_are $((accounts + 1))
same "tokens without an end" 0 "$(sql "SELECT count(*) FROM mailroom_status WHERE state <> 'sent'")"
# Postfix has taken them all; it may still move the last ones from its queue to the Maildir.
ids()
{
    mails | xargs grep -hi -m 1 '^Message-ID:' | sort
}
deadline=$(($(date +%s) + 60))
until [ "$(ids | uniq | wc -l)" -ge $((accounts + 1)) ]; do
    [ "$(date +%s)" -le "$deadline" ] || failed "only $(ids | uniq | wc -l) of $((accounts + 1)) mails arrived"
    sleep 0.1
done
same "different mails" $((accounts + 1)) "$(ids | uniq | wc -l)"
# Each death may repeat what had no answer: at most the lines in hand.
twice=$(($(ids | wc -l) - $(ids | uniq | wc -l)))
[ "$twice" -le 100 ] || failed "$twice mails came twice"
kill -TERM "$collector"
code=0
wait "$collector" || code=$?
same "exit code after TERM" 0 "$code"
echo "$((accounts + 1)) mails sent, $(mails | wc -l) in the Maildir, $twice of them a second time, none lost"
