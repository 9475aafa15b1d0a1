#!/usr/bin/env bash
# Promises decide what is run. A scenario that needs what the subject does not promise, or what the
# schema lacks, is skipped with the reason; --skip, --skip-tag and --scale do what they say.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"

# What must not run has a program that would not pass for a collector.
mine=(--collector /bin/false)

# skipped REASON SCENARIO OPTION…: exit code 77, and the reason.
skipped() {
    local reason=$1
    shift
    expect_exit 77 run "$@"
    grep -qF "skipped: $reason" "$place/out" || { cat "$place/out" && fail "no reason '$reason'"; }
}

# Each mode, several instances, a budget and lanes are needs without a word in the file.
skipped 'it needs sharing, not among the subject'"'"'s promises' sharers-stay-dead "${mine[@]}"
skipped 'it needs standby,' collector-pauses "${mine[@]}"
skipped 'it needs outcome,' sender-errors "${mine[@]}"
skipped 'it needs standby, budget,' budget-cursor "${mine[@]}"
skipped 'it needs standby, budget, lanes,' lanes-cursor "${mine[@]}"
skipped 'it needs small,' promise-small-idle "${mine[@]}"
skipped 'it needs order,' promise-order --promises no_loss,once
for scenario in "$SOURCE_DIR"/scenarios/promise-*.yaml; do
    grep -q '^needs: ' "$scenario" || fail "$scenario names no promise that it needs"
done

# So does a schema that stops before the migration that adds it.
skipped 'it needs budget, which comes with migration 21; postgres.schema is 1' \
    lanes-cursor --set postgres.schema=1 --promises standby,lanes,budget
for scenario in lanes-shared promise-priority promise-outcome promise-sharing promise-budget; do
    skipped 'it needs ' "$scenario" --set postgres.schema=1
done

# What is not promised is not judged, and the expectation about it goes. No figure is expected: on a
# busy machine it could not be judged.
expect_exit 0 "$mailproof" run --quiet --out "$place/results" horizon-held \
    --set load.0.for=500ms --set load.0.rate=20/s --set slack=30s --set drain=30s --set 'faults=[]' \
    --set 'expect={lost: "= 0", late: "= 0"}' --promises no_loss,limit
grep -q '^  expect  *lost' "$place/out" || fail "what is promised is not expected"
! grep -q '^  expect  *late' "$place/out" || fail "what is not promised is expected"
grep -q 'not judged: .*late.*(not promised: ' "$place/out" || fail "not told"

# --scale shortens load and faults; the collector dies once for each time that is left.
expect_exit 0 "$mailproof" run --quiet --out "$place/results" reader-goes-away --scale 0.25 \
    --set slack=30s --set drain=30s --set recovery_limit=30s
yaml=$place/results/reader-goes-away/latest/scenario.yaml
grep -q '^  changed .* --scale 0.25$' "$place/out" || fail "--scale is not among what was changed"
grep -q '^    for: 2s$' "$yaml" || fail "the load is as long as before"
grep -q 'collector.deaths: ">= 1"' "$yaml" || fail "as many deaths are expected as before"

# --skip and --skip-tag name what is left out, and a misspelled name is an error.
expect_exit 0 run steady hostile-names collector-killed --scale 0.05 \
    --skip hostile-names --skip-tag fault
grep -qE '^hostile-names +skipped +0.0 s +- +- +- +- *$' "$place/out" || fail "a skipped row has figures"
grep -q '^hostile-names: skipped: --skip names it$' "$place/out" || fail "--skip"
grep -q "^collector-killed: skipped: --skip-tag names its tag 'fault'$" "$place/out" || fail "--skip-tag"
grep -q '^| all that ran | pass | |$' "$place/results/summary.md" || fail "the summary passes what was skipped"
# No time is foretold for what is skipped.
expect_exit 77 "$mailproof" run steady smoke --skip steady,smoke --out "$place/results"
! grep -q 'runs*: about' "$place/err" || fail "runs are foretold that nobody makes: $(cat "$place/err")"
expect_exit 64 run steady --skip stedy
grep -q "is called 'stedy'; did you mean 'steady'" "$place/err" || fail "no suggestion"
expect_exit 64 run steady --promises lost
grep -q "'lost' is no promise" "$place/err" || fail "no error"
expect_nothing_left
