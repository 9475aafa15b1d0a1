#!/usr/bin/env bash
# Every cut point: the reference collector survives all of them, and collectors
# that only a cut connection can harm are convicted at the messages of their
# defect.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"

# every_cut CODE OPTION…: as expect_exit.
every_cut() {
    local code=$1
    shift
    expect_exit "$code" run every-cut --every-cut "$@"
}

# column NAME MESSAGE: of the table that was printed.
column() {
    awk -v name="$1" -v message="$2" '
        $1 == "message" {for (i = 1; i <= NF; i++) if ($i == name) at = i + 1}
        at && $1 " " $2 == message {print $at}' "$place/out"
}

# sum COLUMN: over all cuts, of the file that goes with the table.
sum() {
    awk -F, -v name="$1" '
        NR == 1 {for (i = 1; i <= NF; i++) if ($i == name) at = i}
        NR > 1 {n += $at}
        END {print n + 0}' "$place/results/every-cut/latest/cuts.csv"
}

tried() {
    grep -vc '^sender,' "$place/results/every-cut/latest/cuts.csv"
}

# same WHAT EXPECTED GOT.
same() {
    [ "$2" = "$3" ] || { cat "$place/out" && fail "$1: expected $2, got $3"; }
}

# Nothing is lost or doubled, wherever the connection ends. All kinds of
# messages of a session have had their turn, both before and after it.
every_cut 0
[ "$(tried)" -ge 300 ] || fail "only $(tried) cut points"
[ "$(($(sum reached) * 100))" -ge "$(($(tried) * 98))" ] || fail "reached $(sum reached) of $(tried)"
same lost 0 "$(sum lost)"
same duplicated 0 "$(sum duplicated)"
same exits 0 "$(sum exits)"
for message in 'client Startup' 'client Bind' 'client Execute' 'client Sync' 'server DataRow' \
    'server CommandComplete' 'server ReadyForQuery' 'server NotificationResponse'; do
    [ "$(column reached "$message")" -ge 2 ] || fail "no cut at $message"
done
echo "reference: $(tried) cut points, $(sum reached) reached, 0 lost, 0 duplicated"

# Whoever forgets what it has written writes it again when the move did not get
# to the server: each of the five tokens, on either side of the move's Bind.
every_cut 1 --cut-at 'client Bind' --collector "$zoo --defect forgets-unconfirmed" --junit "$place/junit.xml"
same "lost by one that forgets" 0 "$(sum lost)"
[ "$(column duplicated 'client Bind')" -ge 5 ] || fail "forgets-unconfirmed is not convicted at client Bind"
grep -q '^  before client Bind number [0-9]*: 0 lost, 1 duplicated' "$place/out" || fail "no cut is named"
same "kinds of messages" 'client Bind' "$(tail -n +2 "$place/results/every-cut/latest/cuts.csv" |
    cut -d, -f1,2 --output-delimiter=' ' | sort -u)"
grep -q '^  <testsuite name="every-cut" tests="3" failures="1" errors="0" ' "$place/junit.xml" || fail "no suite"
grep -q '<testcase classname="every-cut.cut" name="client Bind">' "$place/junit.xml" || fail "no case"
repeat=$(sed -n 's/^  repeat  *//p' "$place/out")
[ "$repeat" = "mailproof run $(sed -n 's/^  result  *//p' "$place/out") --collector '$zoo --defect forgets-unconfirmed' --every-cut --cut-at 'client Bind'" ] ||
    fail "not the command that repeats it: $repeat"
echo "forgets-unconfirmed: $(sum duplicated) duplicated at client Bind, as it should"

# Whoever moves first and takes no answer for no move loses what was moved.
every_cut 1 --cut-at 'server CommandComplete' --set recovery_limit=2s \
    --collector "$zoo --defect drops-unanswered"
same "duplicated by one that drops" 0 "$(sum duplicated)"
[ "$(column lost 'server CommandComplete')" -ge 5 ] || fail "drops-unanswered is not convicted at server CommandComplete"
grep -q '^  before server CommandComplete number [0-9]*: 1 lost, 0 duplicated' "$place/out" || fail "no cut is named"
echo "drops-unanswered: $(sum lost) lost at server CommandComplete, as it should"

# Who fails without any cut is convicted of that, and not cut.
every_cut 1 --collector "$zoo --defect sends-twice"
grep -q '^  without any cut 0 of 5 tokens lost, 5 duplicated, 0 exits' "$place/out" || fail "no reason"
every_cut 1 --collector false --set recovery_limit=100ms
grep -qE '^  without any cut 5 of 5 tokens lost, 0 duplicated, [1-9]' "$place/out" || fail "no reason"
expect_nothing_left
