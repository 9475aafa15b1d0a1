#!/usr/bin/env bash
# No include points upward: the folders of README.md's table, from the top down, see only those
# below them. And no folder has so many source files that one has to search in it.
#
# Then it plants such faults in a copy, and must find each.
set -euo pipefail

most=45 # source files in a folder

judge() {
    local level=0 folder
    declare -A levels=(["."]=0 ["sender"]=0 ["tests"]=0)
    while read -r folder; do
        levels[$folder]=$((++level))
    done < <(sed -nE 's/^\| \*\*`([a-z]+)\/`\*\* .*/\1/p' README.md)
    [ "$level" -gt 5 ] || { echo "README.md names $level folders"; return 1; }

    local file included from to bad=0
    while IFS=: read -r file included; do
        from=${file%/*} && from=${from#./}
        to=${included%/*}
        if [ -z "${levels[$from]-}" ]; then
            echo "$file: README.md does not name its folder" && bad=1
        elif [ "$to" = "$included" ] || [ "$from" = "$to" ]; then
            continue # made while building, or in one folder
        elif [ -z "${levels[$to]-}" ] || [ "${levels[$from]}" -ge "${levels[$to]}" ]; then
            echo "$file includes $included, which is not below it" && bad=1
        fi
    done < <(find . -name '*.[ch]' ! -path './tests/*' -exec grep -HoE '^ *# *include *"[^"]*' {} + |
        sed -E 's/:[^"]*"/:/')

    while read -r count folder; do
        [ "$count" -le "$most" ] || { echo "$folder has $count source files"; bad=1; }
    done < <(find . -name '*.[ch]' -printf '%h\n' | sort | uniq -c)
    return "$bad"
}

# finds FILE LINE: true when the fault is seen in a copy that has such a line more.
finds() {
    cp -r "$SOURCE_DIR/collector" "$place/copy"
    cd "$place/copy"
    mkdir -p "$(dirname "$1")"
    echo "$2" >>"$1"
    if judge >"$place/said"; then
        echo "FAILED: $1 may have '$2'" >&2
        exit 1
    fi
    cd "$place"
    rm -rf "$place/copy"
}

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$SOURCE_DIR/collector"
judge || { echo "FAILED" >&2 && exit 1; }
finds base/log.h '#include "wire/line.h"'
finds wire/line.c '#include "queue/lines.h"'
finds timing/window.h '#  include "session/session.h"'
finds queue/lines.c '#include "loop/work.h"'
finds queue/lines.c '#include "../loop/work.h"'
finds loop/take.c '#include "sender/mail.h"'
finds extra/extra.c '#include "base/log.h"'
for i in $(seq "$most"); do
    mkdir -p "$place/many/loop" && : >"$place/many/loop/extra$i.c"
done
cp -r "$SOURCE_DIR/collector/." "$place/many"
cd "$place/many"
! judge >"$place/said" || { echo "FAILED: a folder may have too many files" >&2 && exit 1; }
