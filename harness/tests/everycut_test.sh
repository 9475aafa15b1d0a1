#!/usr/bin/env bash
# Every cut and every kill: the reference collector survives them, and collectors that fail only at
# certain messages are convicted there. With `all`: only the reference collector, at every message
# and at pairs of them. With `cut` or `kill`: only the collector that this mode convicts.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"

# every MODE CODE OPTION…: runs the mode and checks its exit code, like expect_exit.
every() {
    local mode=$1 code=$2
    shift 2
    expect_exit "$code" run every-cut "--every-$mode" "$@"
    ! grep '; *$' "$place/out" || fail "a line ends before what it announces"
}

# column NAME MESSAGE: prints a cell of the table in the output.
column() {
    awk -v name="$1" -v message="$2" '
        $1 == "message" {for (i = 1; i <= NF; i++) if ($i == name) at = i + 1}
        at && $1 " " $2 == message {print $at}' "$place/out"
}

# sum COLUMN: prints the sum of a column of cuts.csv, over all trials.
sum() {
    awk -F, -v name="$1" '
        NR == 1 {for (i = 1; i <= NF; i++) if ($i == name) at = i}
        NR > 1 {n += $at}
        END {print n + 0}' "$place/results/every-cut/latest/cuts.csv"
}

tried() {
    grep -vc '^sender,' "$place/results/every-cut/latest/cuts.csv"
}

# same WHAT EXPECTED GOT: fails unless the two are equal.
same() {
    [ "$2" = "$3" ] || { cat "$place/out" && fail "$1: expected $2, got $3"; }
}

# survives MODE OPTION…: nothing breaks, and all but a few cuts were made.
survives() {
    local mode=$1
    every "$mode" 0 "${@:2}"
    [ "$(($(sum reached) * 100))" -ge "$(($(tried) * 98))" ] || fail "reached $(sum reached) of $(tried)"
    same lost 0 "$(sum lost)"
    same unplanned_exit 0 "$(sum unplanned_exit)"
    [ "$mode" = kill ] || same duplicated 0 "$(sum duplicated)"
    echo "reference, every $mode ${*:2}: $(tried) tried, $(sum reached) reached, nothing broken"
}

whole_session() {
    local message
    [ "$(tried)" -ge 300 ] || fail "only $(tried) cut points"
    for message in 'client Startup' 'client Bind' 'client Execute' 'client Sync' 'server DataRow' \
        'server CommandComplete' 'server ReadyForQuery' 'server NotificationResponse'; do
        [ "$(column reached "$message")" -ge 2 ] || fail "no cut at $message"
    done
}

# A collector that moves its cursor first loses the batch if it takes a missing answer for
# a failed move.
convicts_by_cut() {
    every cut 1 --cut-at 'server CommandComplete' --set recovery_limit=700ms \
        "${says[@]}" --collector "$zoo --defect drops-unanswered"
    same "duplicated by one that drops" 0 "$(sum duplicated)"
    [ "$(column lost 'server CommandComplete')" -ge 5 ] || fail "drops-unanswered is not convicted at server CommandComplete"
    grep -qE '^  before server CommandComplete number [0-9]+ \(.*\): lost 1[,;]' "$place/out" || fail "no cut is named"
    echo "drops-unanswered: $(sum lost) lost at server CommandComplete, as it should"
}

# A cursor that moves before the line is written loses the line when the process dies.
convicts_by_kill() {
    every kill 1 --cut-at 'server CommandComplete' --set recovery_limit=700ms \
        "${says[@]}" --collector "$zoo --defect cursor-first"
    [ "$(column lost 'server CommandComplete')" -ge 5 ] || fail "cursor-first is not convicted at server CommandComplete"
    same "duplicated by cursor-first" 0 "$(sum duplicated)"
    echo "cursor-first: $(sum lost) lost at server CommandComplete, as it should"
}

# Cuts the connection or kills the process at any message, even while the collector
# recovers.
if [ "${1-}" = all ]; then
    survives cut --pairs 100
    whole_session
    survives kill --pairs 100
    whole_session
    expect_nothing_left
    exit 0
elif [ $# -gt 0 ]; then
    "convicts_by_$1"
    expect_nothing_left
    exit 0
fi
survives cut --cut-at 'server CommandComplete'
survives kill --cut-at 'client Parse' --pairs 6

# The result folder has the files of any run.
for file in scenario.yaml env.json result.json junit.xml summary.md report.html cuts.csv logs; do
    [ -e "$place/results/every-cut/latest/$file" ] || fail "no $file"
done
result=$place/results/every-cut/latest/result.json
same tried "$(tried)" "$(number tried "$result")"
same lost 0 "$(number lost "$result")"
grep -q '"mode": "every-kill"' "$result" || fail "result.json does not say how"
grep -q 'Repeat: .*--every-kill --pairs 6 --cut-at' "$place/results/every-cut/latest/summary.md" || fail "no command"

# A collector that forgets what it has written writes it again when the cursor's move did
# not get to the server. It must do so for each token, at the cuts before and after the
# move's Bind.
every cut 1 --cut-at 'client Bind' "${says[@]}" --collector "$zoo --defect forgets-unconfirmed" --junit "$place/junit.xml"
same "lost by one that forgets" 0 "$(sum lost)"
[ "$(column duplicated 'client Bind')" -ge 5 ] || fail "forgets-unconfirmed is not convicted at client Bind"
grep -qE '^  (before|after) client Bind number [0-9]+ \((WITH|SELECT|INSERT)[^)]*…\): duplicated [1-9]; t0000' "$place/out" || fail "no cut is named"
same "kinds of messages" 'client Bind' "$(tail -n +2 "$place/results/every-cut/latest/cuts.csv" |
    cut -d, -f1,2 --output-delimiter=' ' | sort -u)"
# The statement stands beside each cut, and the output says how many cuts it leaves out.
grep -qE ',"(WITH|SELECT|LISTEN) ' "$place/results/every-cut/latest/cuts.csv" || fail "no statement"
broke=$(sed -n 's/.* \([0-9]*\) broke an invariant$/\1/p' "$place/out")
shown=$(grep -cE '^  (before|after) client Bind number' "$place/out")
[ "$broke" = "$shown" ] || grep -qE "^  and $((broke - shown)) more that broke(, [0-9]+ not judged)? in cuts.csv$" "$place/out" || fail "the rest is not counted"
page=$place/results/every-cut/latest/report.html
grep -q '"cuts":{"action":"cut","messages":\[{"link":1,"sender":"client","name":"Startup"' "$page" || fail "no strip"
grep -q '"state":"broken","broken":"duplicated ' "$page" || fail "no broken cut in the strip"
grep -q '^  <testsuite name="every-cut" tests="3" failures="1" errors="0" ' "$place/junit.xml" || fail "no suite"
grep -q '<testcase classname="every-cut.cut" name="client Bind">' "$place/junit.xml" || fail "no case"
repeat=$(sed -n 's/^  repeat  *//p' "$place/out")
[ "$repeat" = "mailproof run $(sed -n 's/^  result  *//p' "$place/out") --collector '$zoo --defect forgets-unconfirmed' --every-cut --cut-at 'client Bind'" ] ||
    fail "not the command that repeats it: $repeat"
echo "forgets-unconfirmed: $(sum duplicated) duplicated at client Bind, as it should"

convicts_by_cut
convicts_by_kill

# Lanes are made before the first trial. No later one may take their cursors for those of a dump.
survives cut --cut-at 'client Parse' --set collector.env.MAILROOM_LANES=password_recovery,activation
! grep 'from another cluster' "$place/results/every-cut/latest/logs/collector-0.log" || fail "a trial's cursor looks restored"

# In leased mode the harness answers, in each trial.
leased=(--set collector.dequeue=leased)
survives cut --cut-at 'client Parse' "${leased[@]}"
! /usr/bin/python3 -c 'import psycopg2' 2>/dev/null ||
    survives cut --cut-at 'client Query' "${leased[@]}" --set collector.layout=reference --promises no_loss,once,outcome \
        --collector "$SOURCE_DIR/harness/subject/examples/sharing.py"

# Its session is open and rests, so that the return after the cut excuses no more.
every cut 1 --cut-at 'client Bind' "${says[@]}" --collector "$zoo --defect looks-late" --set slack=200ms
[ "$(sum late)" -ge 5 ] || { cat "$place/out" && fail "looks-late is not convicted of late"; }

# A collector that fails without any cut is convicted of that, and no cut is tried.
every cut 1 "${says[@]}" --collector "$zoo --defect sends-twice"
grep -q '^  without any cut: duplicated [0-9]*; t0000' "$place/out" || fail "no reason"
grep -q '^  reason      without any cut the collector fails as well' "$place/out" || fail "no reason"
every cut 1 --collector false --set recovery_limit=100ms
grep -qE '^  without any cut: lost .*unplanned_exit [1-9]' "$place/out" || fail "no reason"

# The fields of tokens are compared at every trial.
every kill 1 "${says[@]}" --collector "$zoo --defect swaps-fields" --set recovery_limit=100ms
grep -qE '^  without any cut: .*forged' "$place/out" || fail "no reason"
expect_nothing_left
