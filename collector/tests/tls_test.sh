#!/bin/sh
# With sslmode=verify-full the collector talks to the server that the
# certificate names, and to no other. Its log says why it refuses another.
set -eu

# shellcheck source=ci/private-server.sh
. "$SOURCE_DIR/ci/private-server.sh"
# shellcheck source=collector/tests/test_lib.sh
. "$SOURCE_DIR/collector/tests/test_lib.sh"

main()
{
    command -v openssl >/dev/null || { echo "skipped: no openssl command here"; exit 77; }
    # A random address of network 127 is most likely free.
    address=127.$(od -An -N3 -tu1 /dev/urandom | awk '{ print $1 "." $2 "." 1 + $3 % 254 }')
    start_server -c "listen_addresses=$address"
    migrate
    serve_tls db.mail.test
    the_right_name_works
    an_unverified_server_is_named
    another_name_is_refused
    another_authority_is_refused
    plain_text_is_refused
    echo "the collector talks to the right server only"
}

# Makes two certificate authorities, and serves TLS with a certificate of the first.
serve_tls() # name
{
    authority ca
    authority other-ca
    make_key server.key
    openssl req -new -key "$server_dir/server.key" -subj "/CN=$1" -out "$server_dir/server.csr"
    echo "subjectAltName=DNS:$1" >"$server_dir/names"
    openssl x509 -req -in "$server_dir/server.csr" -days 2 -CA "$server_dir/ca.crt" \
        -CAkey "$server_dir/ca.key" -CAcreateserial -extfile "$server_dir/names" \
        -out "$server_dir/server.crt" 2>"$server_dir/openssl.log"
    chmod 600 "$server_dir/server.key"
    chown "$(stat -c %u "$server_dir")" "$server_dir/server.key"
    # Over TCP only TLS is accepted.
    sed -i '/^host /d' "$server_dir/data/pg_hba.conf"
    echo "hostssl all all 127.0.0.0/8 trust" >>"$server_dir/data/pg_hba.conf"
    sql "ALTER SYSTEM SET ssl_cert_file = '$server_dir/server.crt'"
    sql "ALTER SYSTEM SET ssl_key_file = '$server_dir/server.key'"
    sql "ALTER SYSTEM SET ssl = on"
    sql "SELECT pg_reload_conf()" >/dev/null
    until_true "SELECT setting = 'on' FROM pg_settings WHERE name = 'ssl'"
}

authority() # name
{
    make_key "$1.key"
    openssl req -x509 -new -key "$server_dir/$1.key" -subj "/CN=$1" -days 2 \
        -out "$server_dir/$1.crt"
}

make_key() # file
{
    openssl ecparam -name prime256v1 -genkey -noout -out "$server_dir/$1"
}

url() # name, authority, further parameters
{
    echo "host=$1 hostaddr=$address user=collector dbname=$PGDATABASE sslmode=verify-full" \
        "sslrootcert=$server_dir/$2.crt $3"
}

# The collector gets in under the right name, and also again after a lost session.
the_right_name_works()
{
    MAILROOM_DATABASE_URL=$(url db.mail.test ca '') run right
    has_logged right collecting
    ! grep -q "verify-full" "$server_dir/right.log" || failed "a warning of a verified server"
    same "sessions with TLS" 1 "$(sql "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity
        USING (pid) WHERE ssl AND usename = 'collector'")"
    sql "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'collector'" >/dev/null
    add_accounts 1 3
    drained
    same "tokens" 15 "$(awk -F, '{ n += NF } END { print n }' "$server_dir/right.out")"
    ends right TERM 0
}

# Without verify-full anybody on the way can play the server. The log says so, once.
an_unverified_server_is_named()
{
    MAILROOM_DATABASE_URL=$(url db.mall.test ca sslmode=require) run open
    has_logged open collecting
    sql "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'collector'" >/dev/null
    add_accounts 4 6
    drained
    same "warnings" 1 "$(grep -c "sslmode is 'require', so .* verify-full" "$server_dir/open.log")"
    ends open TERM 0
}

another_name_is_refused()
{
    MAILROOM_DATABASE_URL=$(url db.mall.test ca '') run name
    has_logged name 'server certificate for "db.mail.test" does not match host name "db.mall.test"'
    never_got_in name
}

another_authority_is_refused()
{
    MAILROOM_DATABASE_URL=$(url db.mail.test other-ca '') run authority
    has_logged authority 'certificate verify failed'
    never_got_in authority
}

plain_text_is_refused()
{
    MAILROOM_DATABASE_URL=$(url db.mail.test ca sslmode=disable) run plain
    has_logged plain 'no encryption'
    never_got_in plain
}

never_got_in() # name
{
    has_logged "$1" 'reconnecting in'
    ends "$1" TERM 0
    ! grep -q connected "$server_dir/$1.log" || failed "$1 was connected"
}

main
