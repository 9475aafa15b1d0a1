#!/bin/bash
# Makes the n-th call of a run to memory, libpq or libcrypto fail (fail.c): for every n up to 90 or,
# with `all`, until ten runs in a row had no such call. The collector either goes on or ends with one
# of its exit codes. It never crashes, and a collector that follows delivers the rest. Nothing is
# lost. A collector that ended with its last line unconfirmed repeats a batch.
#
# fail_test.sh cursor|shared|leased [all|N]
set -euo pipefail

# shellcheck source=ci/private-server.sh
. "$SOURCE_DIR/ci/private-server.sh"
# shellcheck source=collector/tests/test_lib.sh
. "$SOURCE_DIR/collector/tests/test_lib.sh"

waiting="SELECT $waiting_tokens = 0"

# Runs a collector until all is delivered or it has ended by itself.
one_run() { # program
    local code=0 sender=()
    [ "$MAILROOM_DEQUEUE" != leased ] || sender=(-- "$server_dir/sender")
    "$BUILD_DIR/$1" "${sender[@]}" >>"$server_dir/out" 2>"$server_dir/run.log" &
    local pid=$!
    while kill -0 "$pid" 2>/dev/null && [ "$(sql "$waiting")" != t ]; do :; done
    kill -TERM "$pid" 2>/dev/null || true
    wait "$pid" || code=$?
    case $code in
    0) ;;
    70 | 75 | 78) ends=$((ends + 1)) ;;
    *) failed "call $n of $1: exit code $code" ;;
    esac
}

ends=0
start_server
migrate
# A sender that appends each line to $server_dir/out, and answers that all its tokens are sent.
cat >"$server_dir/sender" <<'end'
#!/bin/sh
n=0
while IFS= read -r line; do
    echo "$line" >>"${0%/*}/out"
    n=$((n + 1))
    echo "$n sent"
done
end
chmod +x "$server_dir/sender"
export MAILROOM_DEQUEUE=$1 MAILROOM_BATCH_LIMIT=3 MAILROOM_BATCH_TIMEOUT=0 MAILROOM_GRACE=0
export MAILROOM_IN_FLIGHT=1
last=${2:-90}
[ "$last" != all ] || last=100000
failing=0 # how many runs made their n-th call, which failed
unmade=0  # how many runs in a row made fewer than n calls
for ((n = 1; n <= last && unmade < 10; n++)); do
    add_accounts $((5 * n - 4)) $((5 * n))
    FAIL_AT=$n one_run tests/mailroom-collector-failing
    if [[ $(<"$server_dir/run.log") == *"the call fails"* ]]; then
        failing=$((failing + 1))
        unmade=0
    else
        unmade=$((unmade + 1))
    fi
    [ "$(sql "$waiting")" = t ] || one_run bin/mailroom-collector
    [ "$(sql "$waiting")" = t ] || failed "call $n: not all was delivered"
done
read -r all distinct < <(awk -F, '{ for (i = 2; i <= NF; i += 5) { all++; if (!seen[$i]++) d++ } }
    END { print all, d }' "$server_dir/out")
same "tokens that came out" $((5 * (n - 1))) "$distinct"
[ $((all - distinct)) -le $((3 * ends)) ] || failed "$((all - distinct)) twice after $ends early ends"
echo "$failing failed calls, $ends early ends, $distinct tokens, $((all - distinct)) of them twice"
