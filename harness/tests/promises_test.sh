#!/usr/bin/env bash
# The table of promises in scenarios/README.md is true: each promise of the
# collector has its scenarios, and each of these finds broken, in the zoo's
# collector that the table names, exactly the invariants that the table names.
# (ci/soak promises shows that the reference collector passes them.) With
# scenarios as arguments: only those.
#
# Several runs at once: most of a run's time is waiting.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"

if [ -n "${SANITIZE-}" ]; then
    echo "skipped: under a sanitizer every collector seems to leak, and none is as quick as declared"
    exit 77
fi

readme=$SOURCE_DIR/scenarios/README.md
at_once=${ZOO_AT_ONCE:-4}

main() {
    declare_all >"$place/all"
    nothing_is_missing
    grep -E "^[0-9]+ ($(IFS='|' && echo "${*:-.*}")) " "$place/all" >"$place/declared"
    run_all "$at_once" <"$place/declared"
    deviants >"$place/deviants"
    [ ! -s "$place/deviants" ] || explain
    while read -r promise scenario defect invariants; do
        echo "$promise $scenario: $defect is convicted of $invariants"
    done <"$place/declared"
    expect_nothing_left
}

# Prints promise, scenario, defect and invariants, from rows like
# | 3 limit | [promise-limit](promise-limit.yaml) | `limit-plus-one` | over_limit |
declare_all() {
    awk -F '|' '$3 ~ /\[promise-/ && NF == 6 {
        split($2, promise, " "); scenario = $3; defect = $4; invariants = $5
        gsub(/^ *\[|\].*/, "", scenario); gsub(/^ *`|`.*/, "", defect); gsub(/ /, "", invariants)
        print promise[1], scenario, defect, invariants
    }' "$readme"
}

nothing_is_missing() {
    local file scenario promise
    for file in "$SOURCE_DIR"/scenarios/promise-*.yaml; do
        scenario=$(basename "$file" .yaml)
        grep -q '^tags: .*promise' "$file" || fail "$scenario lacks the tag promise"
        promise=$(awk -v s="$scenario" '$2 == s {print $1; exit}' "$place/all")
        # A scenario with faults that no collector of the zoo survives has no row in the
        # table. Its summary must then name a promise that has rows.
        [ -n "$promise" ] || promise=$(sed -nE 's/^summary: Promise ([0-9]+)[, ].*/\1/p' "$file")
        [ -n "$promise" ] && grep -q "^$promise " "$place/all" || fail "$scenario is not in the table of $readme"
        grep -qE "^summary: Promises? ([0-9]+ and )?${promise}[, ]" "$file" ||
            fail "the summary of $scenario does not begin with its promise, $promise"
    done
    while read -r file; do
        [[ $file = */promise-* ]] || fail "$file has the tag promise, and its name does not begin with promise-"
    done < <(grep -lE '^tags: .*\bpromise\b' "$SOURCE_DIR"/scenarios/*.yaml)
    for promise in 1 2 3 4 5 6 7 8 9 10 11 12; do
        grep -q "^$promise " "$place/all" || fail "promise $promise has no scenario"
    done
}

run_all() { # at once
    local promise scenario defect rest
    while read -r promise scenario defect rest; do
        while [ "$(jobs -rp | wc -l)" -ge "$1" ]; do wait -n || true; done
        run_one "$scenario" "$defect" "$rest" &
    done
    wait
}

run_one() { # scenario, defect, invariants
    local log=$place/$1.$2.log shorter=(--set slack=3s)
    # With this slack a busy machine makes nothing late. A defect of timing shows only
    # with a smaller one.
    [[ ! $3 =~ early|late|busy_idle ]] || shorter=(--set slack=500ms)
    # Lost tokens do not come however long the drain is, so it is short. A collector that
    # is only slow to reconnect needs all of it.
    [ "$2" = slow-reconnect ] || shorter+=(--set drain=15s)
    case $1.$2 in
    promise-reconnect.*)
        shorter+=(--set load.0.for=2s --set 'faults=[{at: 500ms, do: terminate-backend, target: collector}]')
        ;;
    promise-stop.breaks-off)
        # After each stop the collector must be back with a batch to break off, even on a busy
        # machine.
        shorter+=(--set load.0.for=9s --set 'faults=[{at: 1s, every: 2s, until: 8s, do: stop-collector}]')
        ;;
    promise-stop.*)
        shorter+=(--set load.0.for=2s --set 'faults=[{at: 500ms, do: stop-collector}]')
        ;;
    # The zoo's own cursor waits for open transactions, and says so.
    promise-order.* | promise-no-loss.*)
        shorter+=(--promises "$promised,waits_for_writers")
        ;;
    promise-stop-silent.*)
        shorter+=(--set load.0.for=2s --set 'faults=[{at: 500ms, do: partition, for: 1s, reset: true},
            {at: 1s, do: stop-collector}]')
        ;;
    esac
    "$mailproof" run --quiet --out "$place/results.$1.$2" "${says[@]}" \
        --collector "$zoo --defect $2" "${shorter[@]}" "$1" >"$log" 2>&1 || true
}

# The invariants that a run found broken, comma-joined.
found() { # scenario, defect
    grep -oE '[a-z_]+ [0-9]+ BROKEN' "$place/$1.$2.log" | sed 's/ .*//' | paste -sd , -
}

# Prints the declarations that the runs did not confirm.
deviants() {
    local promise scenario defect invariants
    while read -r promise scenario defect invariants; do
        [ "$(found "$scenario" "$defect")" = "$invariants" ] ||
            echo "$promise $scenario $defect $invariants"
    done <"$place/declared"
}

explain() {
    local promise scenario defect invariants
    while read -r promise scenario defect invariants; do
        cat "$place/$scenario.$defect.log"
        echo "$scenario, $defect: declared '$invariants', found '$(found "$scenario" "$defect")'"
    done <"$place/deviants"
    fail "a promise that is broken is not found out"
}

main "$@"
