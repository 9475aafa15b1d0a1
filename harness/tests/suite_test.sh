#!/usr/bin/env bash
# Several scenarios in one command: a live table that keeps to the window, plain lines where there
# is no terminal, and the table of their results.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"

command -v script >/dev/null || { echo "skipped: no script (Debian: bsdutils)"; exit 77; }

unset NO_COLOR
export TERM=xterm
options=(--out "$place/results" --set 'expect={}' --set recovery_limit=30s
    --set slack=30s --set drain=30s "${leak[@]}" --set load.0.for=1s --set load.0.rate=50/s)

# on_terminal COLUMNS LINES COMMAND…: runs the command on a terminal of that size. Its output is
# then in $place/screen, and without colours and movements of the cursor in $place/lines.
on_terminal() {
    local size="cols $1 rows $2" code=0
    shift 2
    script -qec "stty $size -onlcr; $(printf '%q ' "$@")" /dev/null </dev/null >"$place/screen" || code=$?
    sed 's/\x1b\[[0-9]*[mAJK]//g; s/\r/\n/g' "$place/screen" >"$place/lines"
    return $code
}
widest() { awk '{ if (length > n) n = length } END { print n }' "$place/lines"; }

# Only the live table is on the terminal; the verdicts go to a file.
on_terminal 80 24 bash -c '"$@" >"$0"' "$place/out" "$mailproof" run steady promise-limit "${options[@]}" ||
    fail "exit code $?"
[ "$(widest)" -lt 80 ] || fail "a line of $(widest) columns in a window of 80"
grep -q $'^.*steady .*\x1b\\[3[23]m' "$place/screen" || fail "no colours"
grep -qE '^promise-limit +\[#*\.+\] (load|starting)' "$place/lines" || fail "no progress of the second"
grep -qE '^(steady|promise-limit) .* delivered, [0-9.]+ ms$' "$place/lines" || fail "no latency of a run"
grep -qE '^1 of 2 runs over, .* about [0-9]+ s left' "$place/lines" || fail "no time left"
[ "$(tail -c 3 "$place/screen")" = $'\x1b[J' ] || fail "the table was left behind"
grep -qE '^steady +pass .* [0-9.]+ s ' "$place/out" || fail "no table at the end"
! grep -q $'\x1b' "$place/out" || fail "control bytes in a file"

# Everything is on one small terminal, without colours. A run that passes gets no table of its own.
NO_COLOR=1 on_terminal 40 2 "$mailproof" run steady promise-limit "${options[@]}" ||
    fail "exit code $?"
! grep -qE $'\x1b\\[[0-9;]*m' "$place/screen" || fail "colours against NO_COLOR"
[ "$(grep -cE '^(steady|promise-limit): pass' "$place/lines")" = 0 ] || fail "told what passed at length"
[ "$(grep -cE $'\x1b\\[[0-9]+A' "$place/screen")" -gt 0 ] || fail "the table did not stay in its place"
[ "$(grep -cE $'\x1b\\[([2-9]|[0-9]{2,})A' "$place/screen")" = 0 ] || fail "higher than the window"
grep -qE '^[0-2] of 2 runs passed.*, 0 skipped' "$place/lines" || fail "no count"

# A scenario whose runs belong to another shard does not look as if it was done, or would come.
on_terminal 80 24 bash -c '"$@" >"$0"' "$place/out" "$mailproof" run steady promise-limit --shard 2/2 "${options[@]}" ||
    fail "exit code $?"
grep -qE '^steady +\[\.+\] not here *$' "$place/lines" || fail "the row of another shard: $(grep ^steady "$place/lines")"

# The line of a single run keeps to the window, too.
on_terminal 60 24 "$mailproof" run steady "${options[@]}" || fail "exit code $?"
grep -E '^steady .* committed [0-9]+/' "$place/lines" >"$place/progress" || fail "no progress"
[ "$(awk '{ if (length > n) n = length } END { print n }' "$place/progress")" -lt 60 ] || fail "the line is too wide: $(cat "$place/progress")"

# Without a terminal the progress is plain lines.
"$mailproof" run steady "${options[@]}" --set load.0.for=6s >"$place/out" 2>"$place/err" ||
    fail "exit code $?"
! LC_ALL=C grep -q $'[\x01-\x09\x0b-\x1f]' "$place/out" "$place/err" || fail "control bytes"
grep -qE '^steady \[#+\.*\]' "$place/err" || fail "no progress"
grep -qE '^steady: pass' "$place/out" || fail "no verdict"
expect_nothing_left
