#!/usr/bin/env bash
# Each excuse comes from one place, and invariants ask the timeline for it:
# - No invariant includes a header of faults, servers, sessions, samplers or sources, names a verb,
#   or reads the records of faults. `recovery.c` does, because it judges each fault.
# - Each source is one file that sees the ledger, the bounds and the timeline, and calls no other.
# - Nobody but `check.c`, which makes the timeline, and `foresee.c`, which has only the plan, asks a
#   source.
# - Only `held_up.c` asks for slow faults, stalls and waits for a processor, and puts them together
#   with what the other faults leave. What they are made of is read in their own files.
# - No headers of the folder include each other in a circle.
#
# Then it plants each of these faults in a copy, and must find it.
set -euo pipefail

fail() {
    echo "$*" >&2
    return 1
}

# Fails when a file has such a line.
none_in() { # pattern, why, the files' names, one a line
    local pattern=$1 why=$2 found
    found=$(xargs grep -nE "$pattern" <<<"$3" || true)
    [ -z "$found" ] || fail "$why: $found"
}

includes() { grep -nE '^ *# *include *["<][^">]*/' "$@" || true; }

invariants_ask_the_timeline() {
    local others
    others=$(includes invariants/*.[ch] | grep -vE '"(base|plan|scenario|ledger)/|"check/([^/]*|invariants/[^/]*)"' |
        grep -vE '<(sys|arpa|netinet)/' || true)
    [ -z "$others" ] || fail "an invariant looks past the ledger and the timeline: $others" || return
    none_in '\bVERB_([^C]|C[^O])' "an invariant names a verb; ask for a property of its row" \
        "$(find invariants -name '*.[ch]')" || return
    none_in 'fault_record|->faults' "an invariant reads the records of faults" \
        "$(find invariants -name '*.[ch]' ! -name recovery.c)"
}

a_source_is_one_file() {
    local others file name
    others=$(includes sources/*.[ch] | grep -vE '"(base|scenario|ledger)/|"check/(bounds|lookup|cause|timeline|sources/sources)\.h"' || true)
    [ -z "$others" ] || fail "a source looks past the ledger, the bounds and the timeline: $others" || return
    for file in sources/*.c; do
        [ "$file" != sources/sources.c ] || continue
        name=$(sed -nE 's/^void (source_[a-z_]+)\(.*/\1/p' "$file")
        others=$(grep -noE '\bsource_[a-z_]+' "$file" | grep -vE ":(${name:-none})\$" || true)
        [ -z "$others" ] || fail "$file is one source and uses another: $others" || return
    done
    none_in '"check/sources/' "asks a source; ask the timeline" \
        "$(find . -maxdepth 1 -name '*.[ch]' ! -name check.c ! -name foresee.c)"
}

# The files of C of the product, without those that are named.
product_but() { # names
    local names=$1
    find . -name '*.[ch]' ! -name '*_test.c' ! -name '*_bench.c' ! -name 'simulated*' |
        grep -vE "^\\./($names)\$"
}

one_file_puts_sources_together() {
    none_in '\b(stall_list_(ns|over_ns|touches)|check_(denied|starved)_ns|timeline_allowance)\(|\bstalls\.(items|count)\b' \
        "asks for a slow fault, a stall or a wait for a processor by itself; ask held_up.c" \
        "$(product_but 'held_up\.c|stall_list\.[ch]|processor_wait\.c|inside\.h|timeline\.[ch]')" || return
    none_in '(->|\.)(probes|flushes|starved|starved_us|collector_us)\b' \
        "reads what stalls or waits for a processor are made of" \
        "$(product_but 'stall_list\.c|processor_wait\.c')"
}

# The edges from each header to those that it includes.
headers_have_an_order() {
    local edges
    edges=$(grep -oE '^#include "check/[^"]*' ./*.h invariants/*.h sources/*.h |
        sed -E 's#^(\./)?([^:]*):\#include "check/(.*)#\2 \3#')
    [ -n "$edges" ] || fail "found no header" || return
    ! awk '$1 == $2' <<<"$edges" | grep . >&2 || fail "a header includes itself" || return
    tsort <<<"$edges" >/dev/null || fail "headers include each other in a circle"
}

judge() {
    invariants_ask_the_timeline && a_source_is_one_file && one_file_puts_sources_together &&
        headers_have_an_order
}

# finds FILE LINE: true when the fault is seen in a copy whose file begins with this line.
finds() {
    cp -r "$SOURCE_DIR/harness/check" "$place/copy"
    cd "$place/copy"
    { echo "$2" && cat "$1"; } >"$place/changed"
    mv "$place/changed" "$1"
    if judge 2>"$place/said"; then
        echo "FAILED: $1 may begin with '$2'" >&2
        exit 1
    fi
    cd "$place"
    rm -rf "$place/copy"
}

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$SOURCE_DIR/harness/check"
judge || { echo "FAILED" >&2 && exit 1; }
finds invariants/late.c '#include "fault/fault.h"'
finds invariants/late.c '#include "os/starved.h"'
finds invariants/late.c '#include "postgres/sessions.h"'
finds invariants/late.c '#include "postgres/sampler.h"'
finds invariants/late.c '#include "subject/process_sample.h"'
finds invariants/late.c '#include "check/sources/sources.h"'
finds invariants/late.c '#include "../sources/sources.h"'
finds invariants/late.c 'static const enum verb_id kill = VERB_KILL_COLLECTOR;'
finds invariants/late.c 'static int64_t first_ns(const struct ledger *l) { return l->faults[0].began_ns; }'
finds sources/returns.c '#include "check/inside.h"'
finds sources/returns.c 'static void both(struct sources *s) { source_faults(s); }'
finds chains.c '#include "check/sources/sources.h"'
finds chains.c 'static int64_t taken_ns(const struct check *c, int64_t a, int64_t b) { return b - a - stall_list_ns(&c->stalls, a, b); }'
finds invariants/late.c 'static int64_t free_ns(const struct check *c, int64_t a, int64_t b) { return timeline_free(&c->timeline, EVERY, a, b).ns - check_denied_ns(c->l, 0, a, b); }'
finds invariants/recovery.c 'static int64_t slow_ns(const struct check *c, int64_t a, int64_t b) { return b - a - timeline_allowance(&c->timeline, a, b).ns; }'
finds invariants/holds.c 'static int64_t still_ns(const struct check *c) { return c->stalls.items[0].until_ns - c->stalls.items[0].from_ns; }'
finds invariants/idle.c 'static int64_t starved_us(const struct ledger *l) { return (int64_t)l->log->samples[0].starved_us; }'
finds verdict.c 'static int64_t took_ns(const struct ledger *l) { return l->probes[0].took_ns; }'
finds timeline.h '#include "check/inside.h"'
finds invariants/backlog.h '#include "check/invariants/backlog.h"'
