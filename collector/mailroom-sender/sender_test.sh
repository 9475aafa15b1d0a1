#!/bin/sh
# mailroom-sender against a real SMTP server: mails are read back and their signatures checked; the
# server's codes decide; a kill duplicates one mail at most.
set -eu

# shellcheck source=collector/mailroom-sender/test_lib.sh
. "$SOURCE_DIR/collector/mailroom-sender/test_lib.sh"
sender=$BUILD_DIR/bin/mailroom-sender

clean_up()
{
    exit_code=$?
    stop_mail_server
    rm -rf "$dir"
    exit "$exit_code"
}

main()
{
    dir=$(mktemp -d /tmp/mailroom-sender.XXXXXX)
    trap clean_up EXIT
    trap 'exit 130' INT TERM
    mails_arrive_as_they_were_signed
    codes_decide
    a_server_that_is_away_costs_no_mail
    the_days_mails_are_counted_across_senders
    without_answers_it_tries_again_itself
    only_a_kill_between_250_and_the_answer_doubles
    nothing_leaves_without_tls
    a_misspelt_setting_is_named
    answers_never_reach_the_state_file
    a_password_is_neither_shown_nor_sent_in_the_clear
    echo "every mail had one answer, and every answer its mail"
}

fresh() # name, further arguments of the server
{
    name=$1
    shift
    start_mail_server "$dir/$name" "$@"
    export SENDER_TLS=none
}

mails_arrive_as_they_were_signed()
{
    fresh plain
    {
        echo "$(mail_token 1 a@x.example 1 ''),$(mail_token 2 b@x.example 2 01234)"
        echo "$(mail_token 1 c@x.example 3 55555)"
    } >"$dir/lines"
    SENDER_FROM='Example Inc. <post@site.example>' "$sender" <"$dir/lines" >"$dir/answers" \
        2>"$mail_dir/sender.log" || mail_failed "its exit code"
    mail_same "senders" 3 \
        "$(cat "$mail_dir/mails"/*.eml | grep -c '^From: "Example Inc." <post@site.example>')"
    mail_same "mails whose name is ASCII" 1 \
        "$(tr -d '\r' <"$mail_dir/mails/1.eml" | grep -cx 'Hello Zoe 2,')"
    mail_same "answers" "1.1 sent 1.2 sent 2.1 sent" "$(tr '\n' ' ' <"$dir/answers" | sed 's/ $//')"
    mail_same "recipients and codes" "a@x.example - b@x.example 01234 c@x.example - " \
        "$(read_mails | awk '{printf "%s %s ", $1, $3}')"
    for secret in $(read_mails | cut -d' ' -f2); do
        grep -qF "$secret" "$dir/lines" || mail_failed "$secret was never asked for"
    done
    # Two lines that wait together share a connection.
    mail_same "connections" 1 "$(cat "$mail_dir/connections")"
    grep -qF "$(read_mails | head -n 1 | cut -d' ' -f2)" "$mail_dir/sender.log" &&
        mail_failed "the log holds a secret"
    stop_mail_server
}

codes_decide()
{
    fresh codes
    {
        printf '%s,' "$(mail_token 1 full@x 1 '')" "$(mail_token 1 a@x 2 '')" \
            "$(mail_token 1 nobody@x 3 '')" "$(mail_token 1 spam@x 4 '')" "1,no address,x,y,"
        mail_token 1 b@x 5 ''
        echo
        echo "torn,line"
        printf '%s,' "$(mail_token 1 c@x 6 '')" "$(mail_token 1 busy@x 7 '')"
        mail_token 1 d@x 8 ''
        echo
        mail_token 1 never@x 9 '' # no line end: its writer died
    } | "$sender" >"$dir/answers" 2>"$mail_dir/sender.log" || mail_failed "its exit code"
    cat >"$dir/expected" <<END
1.1 error transient 452 4.2.2 mailbox full
1.2 sent
1.3 error permanent 550 5.1.1 no such user
1.4 error permanent 554 5.7.1 this is spam
1.5 error permanent 553 this is not a mail address
1.6 sent
2 error permanent 500 the line does not have five fields for each mail
3.1 sent
3 error transient 454 4.7.0 too many mails, come back later
END
    diff "$dir/expected" "$dir/answers" || mail_failed "the answers differ"
    mail_same "mails kept" "a@x b@x c@x " "$(read_mails | awk '{printf "%s ", $1}')"
    stop_mail_server
}

a_server_that_is_away_costs_no_mail()
{
    fresh away
    stop_mail_server
    mail_token 1 a@x 1 '' >"$dir/line"
    echo >>"$dir/line"
    "$sender" <"$dir/line" >"$dir/answers" 2>"$mail_dir/sender.log" || mail_failed "its exit code"
    grep -q "^1 error transient .*connect to server\$" "$dir/answers" ||
        mail_failed "the answers: $(cat "$dir/answers")"
}

the_days_mails_are_counted_across_senders()
{
    fresh daily
    for n in 1 2 3; do
        mail_token 1 "a$n@x" "$n" ''
        echo
    done >"$dir/lines"
    export SENDER_DAILY=4 SENDER_STATE_FILE="$dir/day"
    "$sender" <"$dir/lines" >"$dir/answers" 2>"$mail_dir/sender.log"
    head -n 2 "$dir/lines" | "$sender" >>"$dir/answers" 2>>"$mail_dir/sender.log"
    unset SENDER_DAILY SENDER_STATE_FILE
    mail_same "answers" "1.1 sent 2.1 sent 3.1 sent 1.1 sent 2 error transient 454 the day's 4 mails are used up " \
        "$(tr '\n' ' ' <"$dir/answers")"
    stop_mail_server
}

# A plain pipe: `collector | mailroom-sender --no-answers`.
without_answers_it_tries_again_itself()
{
    fresh pipe
    {
        printf '%s,' "$(mail_token 1 a@x 1 '')" "$(mail_token 1 busy@x 2 '')"
        mail_token 1 nobody@x 3 ''
        echo
    } >"$dir/lines"
    "$sender" --no-answers <"$dir/lines" >"$dir/answers" 2>"$mail_dir/sender.log" &
    pid=$!
    mail_until "a second try" grep -q 'is tried again' "$mail_dir/sender.log"
    touch "$mail_dir/mend"
    wait "$pid" || mail_failed "its exit code"
    mail_same "answers" "" "$(cat "$dir/answers")"
    mail_same "mails kept" "a@x busy@x nobody@x " "$(read_mails | awk '{printf "%s ", $1}')"
    stop_mail_server
}

# Feeds the lines. Then it feeds the lines without an answer again, as the collector would.
feed_until_answered() # file with one mail a line
{
    cp "$1" "$dir/left"
    while [ -s "$dir/left" ]; do
        : >"$dir/answers"
        "$sender" <"$dir/left" >"$dir/answers" 2>>"$mail_dir/sender.log" &
        echo $! >"$mail_dir/kill"
        wait "$(cat "$mail_dir/kill")" 2>/dev/null || kills=$((kills + 1))
        awk -v answers="$dir/answers" 'BEGIN {while ((getline line < answers) > 0)
            {split(line, part, /[. ]/); done[part[1]] = 1}} !done[NR]' "$dir/left" >"$dir/rest"
        mv "$dir/rest" "$dir/left"
    done
}

only_a_kill_between_250_and_the_answer_doubles()
{
    fresh kills
    for to in a@x killer@x b@x killer-after@x c@x; do
        mail_token 1 "$to" "$to" ''
        echo
    done >"$dir/lines"
    kills=0
    feed_until_answered "$dir/lines"
    mail_same "kills" 2 "$kills"
    # A kill before the server has the mail duplicates nothing. A kill after it duplicates one mail,
    # which its receiver recognises by the Message-ID.
    mail_same "mails kept" "a@x killer@x b@x killer-after@x killer-after@x c@x " \
        "$(read_mails | awk '{printf "%s ", $1}')"
    mail_same "different ids" 5 "$(read_mails | awk '{print $4}' | sort -u | wc -l)"
    stop_mail_server
}

nothing_leaves_without_tls()
{
    fresh clear
    mail_token 1 a@x 1 '' >"$dir/line"
    echo >>"$dir/line"
    SENDER_TLS=require "$sender" <"$dir/line" >"$dir/answers" 2>"$mail_dir/sender.log"
    grep -q '^1 error transient ' "$dir/answers" || mail_failed "the answers: $(cat "$dir/answers")"
    mail_same "mails sent in the clear" 0 "$(read_mails | wc -l)"
    stop_mail_server
    if ! command -v openssl >/dev/null; then
        echo "without openssl, nothing about TLS is tested"
        return 0
    fi
    openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=localhost -days 2 \
        -addext subjectAltName=DNS:localhost -keyout "$dir/key" -out "$dir/cert" 2>/dev/null
    fresh secure "$dir/cert" "$dir/key"
    SENDER_TLS=require "$sender" <"$dir/line" >"$dir/answers" 2>"$mail_dir/sender.log"
    grep -q '^1 error transient ' "$dir/answers" || mail_failed "a stranger's certificate was trusted"
    SENDER_TLS=require SENDER_CA_FILE="$dir/cert" "$sender" <"$dir/line" >"$dir/answers" \
        2>"$mail_dir/sender.log"
    mail_same "the answer over TLS" "1.1 sent" "$(cat "$dir/answers")"
    mail_same "mails over TLS" 1 "$(read_mails | wc -l)"
    stop_mail_server
}

a_misspelt_setting_is_named()
{
    SENDER_RAT=3 "$sender" </dev/null >"$dir/answers" 2>"$dir/log" || mail_failed "$(cat "$dir/log")"
    grep -q 'SENDER_RAT is not a setting' "$dir/log" || mail_failed "no word of SENDER_RAT"
}

answers_never_reach_the_state_file()
{
    fresh closed
    code=0
    SENDER_STATE_FILE=$dir/state "$sender" <"$dir/line" >&- 2>"$dir/log" || code=$?
    [ "$code" = 74 ] || mail_failed "exit code $code without a standard output"
    [ ! -e "$dir/state" ] || mail_failed "the state file holds: $(cat "$dir/state")"
}

refused() # why, settings…
{
    code=0
    why=$1
    shift
    env "$@" "$sender" </dev/null >"$dir/answers" 2>"$dir/log" || code=$?
    [ "$code" = 78 ] || mail_failed "exit code $code with $*: $(cat "$dir/log")"
    grep -q "$why" "$dir/log" || mail_failed "no reason: $(cat "$dir/log")"
    ! grep -q hidden-word "$dir/log" || mail_failed "a password is shown: $(cat "$dir/log")"
}

a_password_is_neither_shown_nor_sent_in_the_clear()
{
    refused "must be smtp" SENDER_URL=htp://me:hidden-word@mail.example
    refused "SENDER_USER" SENDER_URL=smtp://me:hidden-word@mail.example
    for host in mail.example 192.0.2.1 127.0.0.1.mail.example; do
        refused "SENDER_TLS is 'none'" SENDER_URL=smtp://$host:25 SENDER_TLS=none SENDER_USER=me \
            SENDER_PASSWORD=hidden-word
    done
    for host in localhost 127.0.0.1:25 '[::1]:25'; do
        SENDER_URL=smtp://$host SENDER_TLS=none SENDER_USER=me SENDER_PASSWORD=hidden-word \
            "$sender" </dev/null >"$dir/answers" 2>"$dir/log" || mail_failed "$host: $(cat "$dir/log")"
    done
}

main
