#!/usr/bin/env bash
# Queues other than the collector are judged by their manifests. A good one passes while
# its sessions and its process die, one that loses jobs is convicted, and one that is not
# installed is skipped. The table has a cell with its command for each.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"

main() {
    /usr/bin/python3 -c 'import psycopg2' 2>/dev/null || { echo "skipped: python3-psycopg2 is not installed" && exit 77; }
    is_skipped_where_it_is_not_installed
    refuses_an_unknown_subject
    asks_at_no_other_server
    survives textbook &
    local first=$!
    survives claim-by-notification
    wait "$first" || fail "textbook"
    survives_a_takeover textbook
    takes_jobs_that_wait
    convicts_one_that_loses
    expect_nothing_left
}

# The runs are made on the server that --postgres names, or not at all.
asks_at_no_other_server() {
    expect_exit 0 "$mailproof" field mailroom --quick --verdicts --quiet --out "$place/results" \
        --postgres 'host=/nowhere port=1'
    grep -q 'not run: the server of --postgres cannot be used' "$place/out" || fail "it ran elsewhere: $(cat "$place/out")"
}

short=(--set 'load=[{name: short, for: 2s, rate: 50/s, rollback: 0.1, hold_open: {share: 0.1, for: 100ms}}]'
    --set 'faults=[{at: 500ms, do: terminate-backend, target: collector}, {at: 1s, do: kill-collector}]')

is_skipped_where_it_is_not_installed() {
    expect_exit 77 "$mailproof" run --quiet --out "$place/results" steady --subject oban
    grep -q 'oban: it comes from Hex' "$place/out" || fail "no reason: $(cat "$place/out")"
}

refuses_an_unknown_subject() {
    expect_exit 64 "$mailproof" run steady --subject no-such-queue
    grep -q "there is no subject 'no-such-queue'" "$place/err" || fail "$(cat "$place/err")"
}

# Two runs go on at once, each with a log of its own.
survives() { # subject
    local got=0
    run backend-kill-storm --subject "$1" "${short[@]}" >"$place/$1.out" 2>&1 || got=$?
    [ "$got" = 0 ] || { cat "$place/$1.out" && fail "$1: exit code $got"; }
    grep -q 'lost 0 ' "$place/$1.out" || { cat "$place/$1.out" && fail "$1 loses"; }
}

# The subject's client knows one address, behind which the primary changes.
survives_a_takeover() { # subject
    expect_exit 0 run failover-async --subject "$1" \
        --set 'load=[{name: short, for: 3s, rate: 50/s}]' --set 'faults=[{at: 1s, do: promote-standby}]'
    grep -q 'lost 0 ' "$place/out" || { cat "$place/out" && fail "$1 loses"; }
    # Only with the proxy does the result say in what state the fault found the connection.
    grep -q '"wire": "[a-tv-z]' "$place"/results/failover-async/2*/result.json ||
        fail "$1 did not go through the proxy"
}

# Jobs may wait when the consumer starts. Changes, which only mails have, are left out.
takes_jobs_that_wait() {
    expect_exit 0 run backend-kill-storm --subject textbook "${short[@]}" --set 'expect={}' --set load.0.backlog=100 \
        --set 'load.0.changes={email: 0.5, consume: 0.5}'
    grep -q 'lost 0 ' "$place/out" || { cat "$place/out" && fail "jobs that waited are lost"; }
}

# The textbook subject, changed so that it commits the mark before the work.
convicts_one_that_loses() {
    cp -r "$SOURCE_DIR/harness/subjects/textbook" "$place/loses"
    sed -i 's/^name: .*/name: loses/; s/^end_state: .*/end_state: SELECT 3/' "$place/loses/subject.yaml"
    sed -i 's/^                work(row\[0\])$/                pass/
            s/^    *os.write(1, f"done.*/            sys.exit(1) if row[0] % 40 == 39 else work(row[0])/' \
        "$place/loses/consumer.py"
    expect_exit 1 run steady --subject "$place/loses" --set load.0.for=2s --set load.0.rate=50/s --set drain=20s
    grep -q 'lost [1-9][0-9]* BROKEN' "$place/out" || { cat "$place/out" && fail "no loss is seen"; }
    grep -q '^  jobs .* committed' "$place/out" || fail "the jobs are not called jobs"
    grep -q '^  left  *3 jobs' "$place/out" || fail "the jobs that are left are not told"
    grep -q '^  promised .*A job that was not marked is free again' "$place/out" || fail "its promise is not told"
    # A job is asked for by the name that the finding has.
    local file job
    job=$(sed -n 's/^    lost: \(job [0-9]*\): .*/\1/p' "$place/out" | head -n 1)
    expect_exit 0 "$mailproof" check "$place/results/steady/latest" --token "$job"
    grep -qx "$job" "$place/out" || fail "no life of '$job': $(cat "$place/out")"
    cp -r "$place/results/steady/latest/." "$place/first"
    expect_exit 0 "$mailproof" report "$place/results/steady/latest"
    diff -r "$place/first" "$place/results/steady/latest" || fail "rendering again changed something"
    for file in summary.md report.html; do
        grep -q 'A job that was not marked is free again' "$place/results/steady/latest/$file" || fail "$file: its promise is not told"
    done
    grep -q '[0-9] jobs committed' "$place/results/steady/latest/summary.md" || fail "summary.md: the jobs are not called jobs"
}

main "$@"
