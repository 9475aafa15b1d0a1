#!/usr/bin/env bash
# The includes between the folders point one way: none reaches a folder that reaches it. Of the
# collector the product includes base/ alone, because nothing may be judged by its own code. And no
# folder has so many source files that one has to search in it.
#
# Then it plants such faults in a copy, and must find each.
set -euo pipefail

most=45 # source files in a folder

# Prints for each include of the product that names a folder: the file, its folder, the other one.
includes() {
    find . -name '*.[ch]' ! -name '*_test.c' ! -name '*_bench.c' ! -path '*/tests/*' \
        ! -path './zoo/*' ! -path './fuzz/*' -exec grep -HoE '^ *# *include *"[^"]*/' {} + |
        sed -E 's#^\./(([a-z]+)/)?([^:]*):[^"]*"([^/]*)/.*#\1\3 \2 \4#; s#  # . #'
}

judge() {
    local all file to count folder bad=0
    all=$(includes)
    [ "$(wc -l <<<"$all")" -gt 1000 ] || { echo "found only few includes"; return 1; }
    while read -r file _ to; do
        [ "$to" = base ] || [[ "$to" != .. && -d "$to" ]] || { echo "$file includes $to/, which is not here"; bad=1; }
    done <<<"$all"
    awk '$2 != $3 { print $2, $3 }' <<<"$all" | sort -u | tsort 2>&1 >/dev/null |
        sed 's/^tsort: //' || bad=1
    while read -r count folder; do
        [ "$count" -le "$most" ] || { echo "$folder has $count source files"; bad=1; }
    done < <(find . -name '*.[ch]' -printf '%h\n' | sort | uniq -c)
    return "$bad"
}

# finds FILE LINE: true when the fault is seen in a copy that has such a line more.
finds() {
    cp "$1" "$place/kept"
    echo "$2" >>"$1"
    if judge >"$place/said"; then
        echo "FAILED: $1 may have '$2'" >&2
        exit 1
    fi
    cp "$place/kept" "$1"
}

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$SOURCE_DIR/harness"
judge || { echo "FAILED" >&2 && exit 1; }
mkdir "$place/copy"
find . -name '*.[ch]' -print0 | tar --null -cf - -T - | tar -C "$place/copy" -xf -
cd "$place/copy"
finds os/ticker.c '#include "plan/plan.h"'
finds scenario/scenario.h '#include "ledger/ledger.h"'
finds check/check.c '#include "report/report.h"'
finds subject/decoder.c '#include "wire/line.h"'
finds load/load.c '#  include "../plan/plan.h"'
for i in $(seq "$most"); do
    : >"os/extra$i.c"
done
! judge >"$place/said" || { echo "FAILED: a folder may have too many files" >&2 && exit 1; }
