#!/usr/bin/env bash
# A scenario that cannot fail shows nothing. Each scenario names its counterparts, and each of them
# breaks in it exactly what the scenario says (`mailproof plan` prints the commands that run here).
# The promises of the collector have a scenario each.
#
#   counterparts_test.sh [--names] [SCENARIO...]   without names: all
#
# --names runs nothing: it looks whether each scenario has a counterpart and each counterpart exists.
# Several runs at once, because most of a run's time is waiting; but no more than there are
# processors, because on a machine that is too busy runs are inconclusive.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"

if [ -n "${SANITIZE-}" ]; then
    echo "skipped: under a sanitizer every collector seems to leak, and none is as quick as declared"
    exit 77
fi

scenarios=$SOURCE_DIR/scenarios
at_once=${ZOO_AT_ONCE:-$(nproc)}

main() {
    local names=
    [ "${1-}" != --names ] || { names=1 && shift; }
    cd "$scenarios"
    declare_all "$@" >"$place/declared"
    each_promise_has_a_scenario
    each_collector_exists
    [ -z "$names" ] || return 0
    run_all "$at_once" <"$place/declared"
    judge <"$place/declared"
    expect_nothing_left
}

# Prints number, scenario, metrics and command, tab-separated: what `mailproof plan` says must fail.
declare_all() { # scenarios, or none for all
    local file
    [ $# -gt 0 ] || set -- ./*.yaml
    for file; do
        file=$(basename "$file" .yaml)
        "$mailproof" plan "./$file.yaml" >"$place/plan"
        grep -q '^# must break ' "$place/plan" || fail "$file names no counterpart that must fail in it"
        sed -n "/^# must break /{N;s/^# must break \([a-z_.0-9,]*\).*:\nmailproof run \(.*\)/$file\t\1\t\2/p}" "$place/plan"
    done | awk -v OFS='\t' '{print NR, $0}'
}

each_promise_has_a_scenario() {
    local file promise
    while read -r file; do
        [[ $file = promise-* ]] || fail "$file has the tag promise, and its name does not begin with promise-"
    done < <(grep -lE '^tags: .*\bpromise\b' -- *.yaml)
    for file in promise-*.yaml; do
        grep -q '^tags: .*promise' "$file" || fail "$file lacks the tag promise"
        grep -qE '^summary: Promises? [0-9]+( and [0-9]+)?[, ]' "$file" ||
            fail "the summary of $file does not begin with its promise"
    done
    for promise in 1 2 3 4 5 6 7 8 9 10 11 12; do
        grep -qE "^summary: Promises? ([0-9]+ and )?${promise}[, ]" promise-*.yaml ||
            fail "promise $promise has no scenario"
    done
}

each_collector_exists() {
    local defect
    "$zoo" --list | cut -f 1 >"$place/zoo"
    while read -r defect; do
        grep -qx -- "$defect" "$place/zoo" || fail "the zoo has no collector '$defect'"
    done < <(sed -n "s/.*--collector '[^' ]*mailroom-zoo --defect \([a-z-]*\)'.*/\1/p" "$place/declared")
}

run_all() { # at once
    local number scenario breaks command
    while IFS=$'\t' read -r number scenario breaks command; do
        while [ "$(jobs -rp | wc -l)" -ge "$1" ]; do wait -n || true; done
        run_one "$number" "$breaks" "$command" &
    done
    wait
}

run_one() { # number, metrics, command
    local words options=(--set slack=3s --set drain=15s)
    # With a slack of 3 s a busy machine makes nothing late. A defect of timing shows only with a
    # smaller one. Lost tokens do not come however long the drain is, so it is short.
    [[ ! $2 =~ early|late|busy_idle|starved ]] || options=(--set slack=500ms --set drain=15s)
    eval "words=($3)"
    "$mailproof" run --quiet --out "$place/results.$1" "${options[@]}" "${words[@]}" \
        >"$place/$1.log" 2>&1 || true
}

# The invariants that a run found broken and those of the declared objectives that it missed,
# comma-joined. A broken collector is often slow as well, so the other objectives do not count.
found() { # number, declared
    {
        { grep -oE '[a-z_]+ [0-9]+ BROKEN' "$place/$1.log" || true; } | sed 's/ .*//'
        sed -nE 's/^(  expect)? +([a-z_.0-9]+) [<>=!]+ .*, DOES NOT HOLD$/\2/p' "$place/$1.log" |
            grep -xF -e "${2//,/$'\n'}" || true
    } | sort -u | paste -sd , -
}

# Compares what was found with what was declared. A pair that could not run shows nothing, so the
# test is red when it is the scenario's fault, and skipped when it is the machine's.
judge() {
    local number scenario breaks command got bad=0 untried=0
    while IFS=$'\t' read -r number scenario breaks command; do
        got=$(found "$number" "$breaks")
        if grep -q ': skipped: ' "$place/$number.log"; then
            echo "not tried: $command: $(sed -n 's/.*: skipped: //p' "$place/$number.log" | head -n 1)"
            untried=$((untried + 1))
            ! grep -q 'not among the subject.s promises' "$place/$number.log" || bad=1
        elif [ "$got" = "$(tr , '\n' <<<"$breaks" | sort | paste -sd , -)" ]; then
            echo "$scenario: $command breaks $breaks"
        else
            cat "$place/$number.log"
            echo "FAILED: $command: must break '$breaks', and broke '$got'"
            bad=1
        fi
    done
    [ "$bad" = 0 ] || fail "a counterpart does not fail as its scenario says"
    [ "$untried" = 0 ] || { echo "skipped: $untried counterparts cannot run on this machine" && exit 77; }
}

main "$@"
