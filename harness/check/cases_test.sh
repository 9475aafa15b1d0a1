#!/usr/bin/env bash
# Each proof that CASES.md names exists and says what its row says: a story of the guilty claims the
# invariant, one of the innocent claims a pass, and the zoo's table has the collector with the
# invariant and one of the scenarios. A scenario that is not the zoo's names the collector, if there
# is one, as its counterpart.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/../tests/lib.sh"

stories=$SOURCE_DIR/harness/check/stories
table=$SOURCE_DIR/harness/check/CASES.md
"$zoo" --list >"$place/zoo"

main() {
    local case broken story collector scenario rows=0
    while IFS='|' read -r _ case _ broken story collector scenario _; do
        rows=$((rows + 1)) case=${case// /} broken=${broken// /}
        [ -n "$(names "$story$collector$scenario")" ] || fail "$case: nothing proves it"
        for name in $(names "$story"); do claims "$name" "$broken (some|[1-9])"; done
        for name in $(names "$collector"); do is_shown "$name" "$broken" "$scenario"; done
        for name in $(names "$scenario"); do exists "$name" "$(names "$collector")"; done
    done < <(rows_of Guilty)
    while IFS='|' read -r _ case _ story collector scenario _; do
        rows=$((rows + 1))
        for name in $(names "$story"); do claims "$name" "verdict pass"; done
        for name in $(names "$collector"); do is_shown "$name" "" "$scenario"; done
    done < <(rows_of Innocent)
    while IFS='|' read -r _ _ story _; do
        rows=$((rows + 1)) story=$(names "$story")
        claims "$(head -n 1 <<<"$story")" "verdict pass"
        claims "$(tail -n 1 <<<"$story")" "[a-z_]+ (some|[1-9])"
        for name in $story; do claims "$name" ""; done
    done < <(rows_of "Rules of the timeline")
    [ "$rows" -gt 50 ] || fail "$table has only $rows rows"
}

rows_of() { # heading
    sed -n "/^## $1\$/,/^## /p" "$table" | grep '^| ' | sed 1d
}

# shellcheck disable=SC2016 # the marks are those of the table
names() { # cell
    local rest=$1 marked='`([^`]+)`'
    while [[ $rest =~ $marked ]]; do
        echo "${BASH_REMATCH[1]}"
        rest=${rest#*"${BASH_REMATCH[0]}"}
    done
}

claims() { # story, what
    local line
    [ -f "$stories/$1.story" ] || fail "$table: there is no story $1"
    while IFS= read -r line; do
        [[ ! $line =~ ^"=> "(.*", ")?$2 ]] || return 0
    done <"$stories/$1.story"
    fail "$1 does not claim: $2"
}

is_shown() { # collector, invariant, scenarios
    local row
    row=$(awk -F '\t' -v OFS='\t' -v name="$1" '$1 == name {print $2, $3}' "$place/zoo")
    [ -n "$row" ] || fail "$table: the zoo has no collector $1"
    [[ ",${row#*$'\t'}," = *",$2,"* ]] || fail "$1 is not convicted of $2 but of ${row#*$'\t'}"
    [[ " $(names "$3" | paste -sd ' ') " = *" ${row%%$'\t'*} "* ]] ||
        grep -q -- "--defect $1[, ]" "$(dirname "$stories")"/../../scenarios/"$(names "$3" | head -n 1)".yaml ||
        fail "$1 does not show in $3"
}

exists() { # scenario, collector
    local file=$SOURCE_DIR/scenarios/$1.yaml
    [ ! -f "$SOURCE_DIR/harness/zoo/scenarios/$1.yaml" ] || return 0
    [ -f "$file" ] || fail "$table: there is no scenario $1"
    [ -z "$2" ] || grep -q -- "--defect $2[, }]" "$file" || fail "$1 does not name $2 as its counterpart"
}

main
