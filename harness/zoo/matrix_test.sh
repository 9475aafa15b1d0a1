#!/usr/bin/env bash
# Runs every collector of the zoo in the scenario in which its defect shows, and the good ones (the
# zoo's and mailroom-collector) in all scenarios: each must break exactly the invariants that it is
# declared to break. Prints the matrix.
#
#   matrix_test.sh [--exact] [DEFECT...]   without names: all
#
# --exact allows so much delay that a busy machine changes nothing: use it only for defects that do not
# show as delay. A run that loses tokens waits for the whole drain. Several runs go on at once, because
# most of a run's time is waiting; without --exact only one for each processor, because a collector
# that waits for one cannot be judged late.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/../tests/lib.sh"

if [ -n "${SANITIZE-}" ]; then
    echo "skipped: under a sanitizer every collector seems to leak, and none is as quick as declared"
    exit 77
fi

scenarios=$SOURCE_DIR/harness/zoo/scenarios
at_once=${ZOO_AT_ONCE:-$(nproc)}
slack=()
if [ "${1-}" = --exact ]; then
    slack=(--set slack=15s --set drain=30s)
    at_once=${ZOO_AT_ONCE:-3}
    shift
fi

main() {
    declare_all "$@" >"$place/declared"
    run_all "$at_once" <"$place/declared"
    print_matrix
    deviants >"$place/deviants"
    [ ! -s "$place/deviants" ] || explain
    [ ! -s "$place/deviants" ]
}

# Prints lines of name, scenario and invariants, tab-separated.
declare_all() {
    local file scenario
    for file in "$scenarios"/*.yaml; do
        scenario=$(basename "$file" .yaml)
        printf 'none\t%s\t\n' "$scenario"
        [ "$scenario" = foreign ] || [ "$scenario" = open ] || printf 'reference\t%s\t\n' "$scenario"
    done | chosen "$@"
    "$zoo" --list | awk -F '\t' -v OFS='\t' '$1 != "none" {print $1, $2, $3}' | chosen "$@"
}

chosen() { # names, or all
    if [ $# -eq 0 ]; then cat; else grep -E "^($(IFS='|' && echo "$*"))$(printf '\t')"; fi || true
}

run_all() { # at once
    local defect scenario rest
    while IFS=$'\t' read -r defect scenario rest; do
        while [ "$(jobs -rp | wc -l)" -ge "$1" ]; do wait -n || true; done
        run_one "$defect" "$scenario" &
    done
    wait
}

run_one() { # defect, scenario
    local out=$place/runs/$1.$2 collector="$zoo --defect $1" says
    zoo_says "$scenarios/$2.yaml"
    rm -rf "$out"
    mkdir -p "$out"
    [ "$1" != reference ] || { collector=$BUILD_DIR/bin/mailroom-collector && says=(); }
    "$mailproof" run --quiet "${slack[@]}" "${says[@]}" --out "$out" --collector "$collector" "$scenarios/$2.yaml" \
        >"$out/log" 2>&1 || true
    broken "$out" "$2" >"$out/broken"
}

# Prints the invariants that a run found broken, comma-joined, or ? without a verdict.
broken() { # folder, scenario
    local result=$1/$2/latest/result.json
    if [ ! -s "$result" ] || grep -q '"verdict": "inconclusive"' "$result"; then
        echo '?'
        return
    fi
    awk '
        /^  "broken": \[/ { inside = 1; if (!/\]/) next }
        inside && /\]/ { exit }
        inside { gsub(/[ ",]/, ""); list = list (list ? "," : "") $0 }
        END { print list }' "$result"
}

found() { # defect, scenario
    cat "$place/runs/$1.$2/broken" 2>/dev/null || echo '?'
}

# Prints the declarations that the runs do not match.
deviants() {
    local defect scenario invariants
    while IFS=$'\t' read -r defect scenario invariants; do
        [ "$(found "$defect" "$scenario")" = "$invariants" ] ||
            printf '%s\t%s\t%s\n' "$defect" "$scenario" "$invariants"
    done <"$place/declared"
}

print_matrix() {
    local defect scenario invariants
    printf '%-18s %-12s %s\n' collector scenario "found broken"
    while IFS=$'\t' read -r defect scenario invariants; do
        printf '%-18s %-12s %s\n' "$defect" "$scenario" "$(found "$defect" "$scenario")"
    done <"$place/declared"
}

explain() {
    local defect scenario invariants
    while IFS=$'\t' read -r defect scenario invariants; do
        echo
        echo "FAILED: $defect in $scenario: declared '$invariants', found '$(found "$defect" "$scenario")'"
        cat "$place/runs/$defect.$scenario/log"
    done <"$place/deviants"
}

main "$@"
