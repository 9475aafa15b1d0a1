#!/usr/bin/env bash
# Who may see whom, in three rooms:
# - collector: the folders of its README.md, from the top down, include only those below them.
# - harness: no folder includes one that reaches it. Of the collector it includes base/ alone, because
#   nothing may be judged by its own code.
# - check: each excuse comes from one place, and invariants ask the timeline for it.
# And no folder has so many source files that one has to search in it.
#
# Then it plants faults in a copy of each room, and must find each.
set -euo pipefail

declare -A folder=([collector]=collector [harness]=harness [check]=harness/check)
most=45 # source files in a folder

# Prints for each include of a folder's file: the file, its folder, the other one, what is included.
includes() { # options of find
    find . -name '*.[ch]' -not -path '*/node_modules/*' "$@" -exec grep -HoE '^ *# *include *["<][^">]*/[^">]*' {} + |
        sed -E 's#^\./(([a-z-]+)/)?([^:]*):[^"<]*(["<]([^/]*)/.*)#\1\3 \2 \5 \4#; s#  # . #'
}

# Judges a room: prints what breaks its rules.
judge() ( # room
    cd "$root/${folder[$1]}"
    "$1_has_layers"
)

crowded() {
    # What npm installs for a subject is not ours.
    find . -name node_modules -prune -o -name '*.[ch]' -printf '%h\n' | sort | uniq -c |
        awk -v most="$most" '$1 > most { print $2 " has " $1 " source files" }'
}

# Prints each circle of the edges that it reads.
circles() {
    tsort 2>&1 >"$place/sorted" | sed 's/^tsort: //'
    [ -s "$place/sorted" ] || echo "found no includes"
}

collector_has_layers() {
    includes ! -path './tests/*' | awk -v rows="$(sed -nE 's/^\| \*\*`([a-z]+)\/`\*\* .*/\1/p' README.md)" '
        BEGIN { n = split(rows, row); while (++i <= n) level[row[i]] = i; level["."] = level["mailroom-sender"] = 0 }
        !($2 in level) { print $1 ": README.md does not name its folder" }
        $4 ~ /^"/ && $2 != $3 && (!($3 in level) || level[$2] >= level[$3]) {
            print $1 " includes " substr($4, 2) ", which is not below it" }
        END { if (n < 6 || NR < 100) print "found " n " folders and " NR " includes" }'
    crowded
}

harness_has_layers() {
    local file from to
    includes ! -name '*_test.c' ! -name '*_bench.c' ! -path '*/tests/*' ! -path './zoo/*' ! -path './fuzz/*' |
        grep ' "' | while read -r file from to _; do
        [ "$to" = base ] || [[ "$to" != .. && -d "$to" ]] || echo "$file includes $to/, which is not here" >&3
        [ "$from" = "$to" ] || echo "$from $to"
    done 3>&1 >"$place/edges"
    circles <"$place/edges"
    crowded
}

# Prints the lines that no such file may have.
never() { # pattern, why, files, but those
    local found
    found=$(find . -name '*.[ch]' -printf '%P\n' | grep -E "$3" | grep -vE "^(${4-})\$" | xargs grep -nE "$1") &&
        echo "$2: $found"
}

# Prints the includes that no file of a folder may have.
only() { # folder, what it may include, why
    includes -path "./$1/*" | awk -v may="$2" -v why="$3" '$4 !~ may { print $1 " includes " substr($4, 2) ": " why }'
}

check_has_layers() {
    # No invariant includes a header of faults, servers, sessions, samplers or sources, names a verb,
    # or reads the records of faults. `recovery.c` does, because it judges each fault.
    only invariants '^"(base|plan|scenario|ledger)/|^"check/([^/]*|invariants/[^/]*)$|^<(sys|arpa|netinet)/' \
        "an invariant looks past the ledger and the timeline"
    never '\bVERB_([^C]|C[^O])' "an invariant names a verb; ask for a property of its row" '^invariants/'
    never 'fault_record|->faults' "an invariant reads the records of faults" '^invariants/' invariants/recovery.c
    # Each source is one file that sees the ledger, the bounds and the timeline, and calls no other.
    only sources '^"(base|scenario|ledger)/|^"check/(bounds|lookup|cause|timeline|sources/sources)\.h$' \
        "a source looks past the ledger, the bounds and the timeline"
    grep -noE '^void source_[a-z_]+\(|\bsource_[a-z_]+' sources/*.c | awk -F '[:(]' '
        /^sources\/sources\.c:/ { next }
        sub(/^void /, "", $3) { own[$1] = $3 }
        { used[NR] = $1 " is one source and uses another: " $2 ":" $3; file[NR] = $1; name[NR] = $3 }
        END { for (i in used) if (name[i] != own[file[i]]) print used[i] }'
    # Nobody but `check.c`, which makes the timeline, and `foresee.c`, which has only the plan, asks a
    # source.
    never '"check/sources/' "asks a source; ask the timeline" '^[^/]*$' 'check\.c|foresee\.c'
    # Only `held_up.c` asks for slow faults, stalls and waits for a processor, and puts them together
    # with what the other faults leave. What they are made of is read in their own files.
    local tests='.*(_test|_bench)\.c|.*simulated.*'
    never '\b(stall_list_(ns|over_ns|touches)|check_(denied|starved)_ns|timeline_allowance)\(|\bstalls\.(items|count)\b' \
        "asks for a slow fault, a stall or a wait for a processor by itself; ask held_up.c" . \
        "$tests|held_up\.c|stall_list\.[ch]|processor_wait\.c|inside\.h|timeline\.[ch]"
    never '(->|\.)(probes|flushes|starved|starved_us|collector_us)\b' \
        "reads what stalls or waits for a processor are made of" . "$tests|stall_list\.c|processor_wait\.c"
    # No headers of the folder include each other in a circle.
    includes -name '*.h' | sed -nE 's#^([^ ]*) .* "check/(.*)#\1 \2#p' |
        tee >(awk '$1 == $2 { print $1 " includes itself" }' >&3) | circles
} 3>&1

# finds ROOM FILE LINE: true when the fault is seen in a copy whose file begins with this line.
finds() {
    local file=${folder[$1]}/$2 was=
    mkdir -p "${file%/*}"
    [ ! -e "$file" ] || was=$(cat "$file")
    printf '%s\n%s\n' "$3" "$was" >"$file"
    [ -n "$(judge "$1")" ] || { echo "FAILED: $file may begin with '$3'" >&2 && exit 1; }
    [ -n "$was" ] && printf '%s\n' "$was" >"$file" || rm "$file"
}

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
root=$SOURCE_DIR
for room in "${!folder[@]}"; do
    found=$(judge "$room")
    [ -z "$found" ] || { echo "FAILED: $room: $found" >&2 && exit 1; }
done

root=$place/copy
mkdir "$root"
(cd "$SOURCE_DIR" && find collector harness \( -name '*.[ch]' -o -path collector/README.md \) -print0) |
    tar -C "$SOURCE_DIR" --null -cf - -T - | tar -C "$root" -xf -
cd "$root"
finds collector base/log.h '#include "wire/line.h"'
finds collector wire/line.c '#include "queue/lines.h"'
finds collector timing/window.h '#  include "session/session.h"'
finds collector queue/lines.c '#include "loop/work.h"'
finds collector queue/lines.c '#include "../loop/work.h"'
finds collector loop/take.c '#include "mailroom-sender/mail.h"'
finds collector extra/extra.c '#include "base/log.h"'
finds harness os/ticker.c '#include "plan/plan.h"'
finds harness scenario/scenario.h '#include "ledger/ledger.h"'
finds harness check/check.c '#include "report/report.h"'
finds harness subject/decoder.c '#include "wire/line.h"'
finds harness load/load.c '#  include "../plan/plan.h"'
finds check invariants/late.c '#include "fault/fault.h"'
finds check invariants/late.c '#include "os/starved.h"'
finds check invariants/late.c '#include "postgres/sessions.h"'
finds check invariants/late.c '#include "postgres/sampler.h"'
finds check invariants/late.c '#include "subject/process_sample.h"'
finds check invariants/late.c '#include "check/sources/sources.h"'
finds check invariants/late.c '#include "../sources/sources.h"'
finds check invariants/late.c 'static const enum verb_id kill = VERB_KILL_COLLECTOR;'
finds check invariants/late.c 'static int64_t first_ns(const struct ledger *l) { return l->faults[0].began_ns; }'
finds check sources/returns.c '#include "check/inside.h"'
finds check sources/returns.c 'static void both(struct sources *s) { source_faults(s); }'
finds check chains.c '#include "check/sources/sources.h"'
finds check chains.c 'static int64_t taken_ns(const struct check *c, int64_t a, int64_t b) { return b - a - stall_list_ns(&c->stalls, a, b); }'
finds check invariants/late.c 'static int64_t free_ns(const struct check *c, int64_t a, int64_t b) { return timeline_free(&c->timeline, EVERY, a, b).ns - check_denied_ns(c->l, 0, a, b); }'
finds check invariants/recovery.c 'static int64_t slow_ns(const struct check *c, int64_t a, int64_t b) { return b - a - timeline_allowance(&c->timeline, a, b).ns; }'
finds check invariants/holds.c 'static int64_t still_ns(const struct check *c) { return c->stalls.items[0].until_ns - c->stalls.items[0].from_ns; }'
finds check invariants/idle.c 'static int64_t starved_us(const struct ledger *l) { return (int64_t)l->log->samples[0].starved_us; }'
finds check verdict.c 'static int64_t took_ns(const struct ledger *l) { return l->probes[0].took_ns; }'
finds check timeline.h '#include "check/inside.h"'
finds check invariants/backlog.h '#include "check/invariants/backlog.h"'
for room in collector/loop harness/os; do
    for i in $(seq "$most"); do : >"$room/extra$i.c"; done
    [ -n "$(judge "${room%/*}")" ] || { echo "FAILED: $room may have too many files" >&2 && exit 1; }
done
