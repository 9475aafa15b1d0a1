#!/usr/bin/env bash
# A defect that a project has published shows in the version that has it, with the message
# that the issue quotes. It does not show in the version that corrects it. Skipped where
# 'ci/field --install' has not installed both.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"

defects=$SOURCE_DIR/harness/subjects/defects

main() {
    [ -d "$defects/graphile-worker-381/node_modules" ] ||
        { echo "skipped: ci/field --install defects/graphile-worker-381 has not run" && exit 77; }
    shows graphile-worker-381 0.15.1 "nudge called after worker terminated"
    is_mended graphile-worker-381 0.16.0 "nudge called after worker terminated"
    expect_nothing_left
}

judge() { # defect, version
    rm -rf "$place/results"
    "$mailproof" run --quiet --out "$place/results" --set slack=3s "$defects/$1/sessions-end.yaml" \
        --subject "$defects/$1/$2"
}

shows() { # defect, version, words
    expect_exit 1 judge "$1" "$2"
    grep -q 'unplanned_exit [1-9][0-9]* BROKEN' "$place/out" || { cat "$place/out" && fail "$2 does not exit"; }
    grep -rqF "$3" "$place"/results/*/2*/logs/ || fail "$2 does not say '$3'"
}

# On a slow machine other invariants may break, but not this one.
is_mended() { # defect, version, words
    judge "$1" "$2" >"$place/out" 2>&1 || [ $? -le 2 ] || { cat "$place/out" && fail "$2 was not judged"; }
    if grep -rqF "$3" "$place"/results/*/2*/logs/; then fail "$2 says '$3'"; fi
}

main "$@"
