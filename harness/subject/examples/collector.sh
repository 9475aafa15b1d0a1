#!/usr/bin/env bash
# A mail collector in bash, psql and Perl's own modules, with the outbox of outbox.sql.
# psql hears no notification while it waits, so this one asks every 20 ms.
set -u
: "${MAILROOM_BATCH_LIMIT:=10}" "${MAILROOM_BATCH_TIMEOUT:=5000}"
[[ ${MAILROOM_DATABASE_URL-} && ${MAILROOM_SECRET_KEY-} =~ ^[0-9a-fA-F]{64}$ ]] || {
    echo "MAILROOM_DATABASE_URL and MAILROOM_SECRET_KEY (64 hex digits) are needed" >&2
    exit 78
}
here=$(dirname "$0") stop=0 unconfirmed=''
exec {never}<> <(:) # a pipe that stays empty: reading it with a time limit sleeps

# Selects the next batch, one token a row. Tokens that cannot be sent leave the
# outbox in the same statement; the last row has their number.
batch="WITH head AS MATERIALIZED (
    SELECT o.token, t.account, t.action, a.email, a.login, t.secret, coalesce(t.code, '') AS code,
        CASE WHEN (t.consumed_at IS NULL AND t.expires_at > extract(epoch FROM now()) AND (t.action, a.status)
                IN (('activation', 'provisioned'), ('password_recovery', 'active'))) IS NOT TRUE THEN 'passed'
            WHEN a.email || a.login ~ '[,\"\\u0001-\\u001f\\u007f-\\u009f]' THEN 'email or login cannot be sent'
            WHEN length(t.secret) <> 32 THEN 'secret is not 32 bytes'
            WHEN coalesce(t.code, '') !~ '^[0-9]{5}\$' AND (t.code <> '' OR t.action = 'password_recovery')
                THEN 'code is not 5 digits' END AS why
    FROM outbox o LEFT JOIN tokens t ON t.id = o.token LEFT JOIN accounts a ON a.id = t.account
    ORDER BY o.token LIMIT $MAILROOM_BATCH_LIMIT
), gone AS (DELETE FROM outbox WHERE token IN (SELECT token FROM head WHERE why IS NOT NULL) RETURNING token),
dead AS (INSERT INTO dead_letters (token, account, action, reason)
    SELECT token, account, action, why FROM head JOIN gone USING (token) WHERE why <> 'passed')
(SELECT token, 1 + (action = 'password_recovery')::int, email, login, encode(secret, 'hex'), code
    FROM head WHERE why IS NULL ORDER BY token)
UNION ALL SELECT count(*), null, null, null, null, null FROM gone"

# ask SQL: puts the answer into `rows`; fails when the session fails or does not answer for 5 s.
ask() {
    local row
    rows=()
    printf '%s;\n\\echo .\n' "$1" >&"$to" || return
    while IFS= read -rt 5 -u "$from" row; do
        [ "$row" != . ] || return 0
        rows+=("$row")
    done
    return 1
}

# Makes one line of the rows. The key stays out of every argument list.
sign() {
    perl -MDigest::SHA=hmac_sha256 -MMIME::Base64=encode_base64url -F, -lane '
        my ($token, $action, $email, $login, $hex, $code) = (@F, "");
        my ($secret, $key) = map { pack "H*", $_ } $hex, $ENV{MAILROOM_SECRET_KEY};
        my $mac = hmac_sha256($action == 1 ? "/activate$secret" : "/recover$secret$code", $key);
        push @line, $action, $email, $login, encode_base64url($secret . $mac), $code;
        END { print join ",", @line }'
}

confirm() {
    [ -z "$unconfirmed" ] || ask "DELETE FROM outbox WHERE token IN ($unconfirmed)" && unconfirmed=''
}

# Serves one session, until it fails or we are told to stop.
serve() {
    local due=0 now line # due: when a short batch goes, '' while nothing waits
    ask "$(<"$here/outbox.sql")" && confirm || return
    while [ $stop = 0 ]; do
        ask "$batch" || return
        now=${EPOCHREALTIME/[.,]/} # what the answer has was there before
        local gone=${rows[-1]%%,*} count=$((${#rows[@]} - 1))
        unset 'rows[-1]'
        if [ "$count" = "$MAILROOM_BATCH_LIMIT" ] || { [ "$count" -gt 0 ] && [ "$now" -ge "${due:-$((now + 1))}" ]; }; then
            # The signal that stops us ends Perl as well; then the line was never written.
            line=$(printf '%s\n' "${rows[@]}" | sign) || { [ $stop = 1 ] && return || exit 70; }
            printf -v unconfirmed '%s,' "${rows[@]%%,*}"
            unconfirmed=${unconfirmed%,}
            printf '%s\n' "$line" || exit 74
            confirm || return
            due=''
        elif [ "$gone" = 0 ]; then
            if [ "$count" = 0 ]; then due=''; else due=${due:-$((now + MAILROOM_BATCH_TIMEOUT * 1000))}; fi
            read -rt 0.02 -u "$never"
        fi
    done
}

trap 'stop=1; (sleep 0.8; kill -ALRM $$) >&- 2>&- &' TERM INT
trap 'exit 75' ALRM
trap '' PIPE
while [ $stop = 0 ]; do
    # The harness signals the whole process group; psql ends with its input.
    coproc PG { trap '' TERM INT; exec psql -qAtX -F, -v ON_ERROR_STOP=1 "$MAILROOM_DATABASE_URL" {never}<&-; }
    exec {from}<&"${PG[0]}" {to}>&"${PG[1]}"
    serve
    exec {from}<&- {to}>&-
    [ $stop = 1 ] || read -rt "0.$((RANDOM % 5))5" -u "$never"
done
[ -z "$unconfirmed" ] || exit 75
