# shellcheck shell=sh
# A mail server, and the lines of a collector, for tests of the sender; sourced.
# $mail_dir is the server's folder; the mails are in $mail_dir/mails.

export SENDER_FROM=post@site.example SENDER_SITE=https://site.example
mail_key=000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f
mail_dir=

mail_failed() # sentence
{
    echo "FAILED: $1"
    for mail_log in "$mail_dir"/*.log; do
        echo "--- $mail_log"
        tail -n 20 "$mail_log"
    done
    exit 1
}

mail_same() # what, expected, got
{
    [ "$2" = "$3" ] || mail_failed "$1: expected '$2', got '$3'"
}

# Debian's own Python has Debian's modules; another Python in the path may not have them.
mail_python()
{
    for mail_candidate in /usr/bin/python3 python3; do
        if "$mail_candidate" -c 'import aiosmtpd' 2>/dev/null; then
            echo "$mail_candidate"
            return 0
        fi
    done
    echo "skipped: no mail server here (Debian: python3-aiosmtpd)" >&2
    exit 77
}

mail_until() # what is waited for, command…
{
    mail_what=$1
    shift
    mail_deadline=$(($(date +%s) + 60))
    until "$@"; do
        [ "$(date +%s)" -le "$mail_deadline" ] || mail_failed "never came: $mail_what"
        sleep 0.05
    done
}

# The server reads from a pipe that this shell holds open, and ends when the shell ends.
start_mail_server() # folder, certificate and key or nothing
{
    mail_dir=$1
    mail_interpreter=$(mail_python) || exit 77
    mkdir -p "$mail_dir/mails"
    rm -f "$mail_dir/port" "$mail_dir/hold"
    mkfifo "$mail_dir/hold"
    "$mail_interpreter" "$SOURCE_DIR/collector/mailroom-sender/smtp_server.py" "$@" \
        <"$mail_dir/hold" >"$mail_dir/server.log" 2>&1 &
    mail_server=$!
    exec 9>"$mail_dir/hold"
    mail_until "the mail server's port" [ -s "$mail_dir/port" ]
    SENDER_URL=smtp://localhost:$(cat "$mail_dir/port")
    export SENDER_URL
}

stop_mail_server()
{
    exec 9>&-
    wait "$mail_server" 2>/dev/null || true
}

# Prints recipient, secret, code and Message-ID of each mail; fails on a bad signature.
read_mails()
{
    "$mail_interpreter" "$SOURCE_DIR/collector/mailroom-sender/read_mails.py" "$mail_dir/mails" "$mail_key" ||
        mail_failed "the mails cannot be read back"
}

# Prints action,email,login,secret,code of a token, signed as the collector does it.
mail_token() # action, email, number that makes the secret, code
{
    "$mail_interpreter" - "$mail_key" "$@" <<'PYTHON'
import base64, hashlib, hmac, sys
key, action, address, number, code = sys.argv[1:]
secret = hashlib.sha256(number.encode()).digest()
what = (b"/activate" if action == "1" else b"/recover") + secret
if action == "2":
    what += code.encode()
text = base64.urlsafe_b64encode(secret + hmac.new(bytes.fromhex(key), what, "sha256").digest())
login = ("Zoe " if number == "2" else "Zoë ") + number  # most need more than ASCII
print(",".join([action, address, login, text.decode().rstrip("="), code]), end="")
PYTHON
}
