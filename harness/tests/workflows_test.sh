#!/usr/bin/env bash
# actionlint understands our workflows and the sample, and refuses one that puts somebody's text into
# a command.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"

code=0
"$SOURCE_DIR/ci/lint-workflows" 2>"$place/err" || code=$?
[ "$code" != 69 ] || { echo "skipped: $(cat "$place/err")"; exit 77; }
[ "$code" = 0 ] || fail "$(cat "$place/err")"
sed 's/run: mailproof\/ci\/install-packages/run: echo ${{ github.event.pull_request.title }}; true/' \
    "$SOURCE_DIR/ci/examples/github.yml" >"$place/bad.yml"
expect_exit 1 "$SOURCE_DIR/ci/lint-workflows" "$place/bad.yml"
grep -q 'potentially untrusted' "$place/err" || fail "refused for another reason: $(cat "$place/err")"
expect_exit 66 "$SOURCE_DIR/ci/lint-workflows" "$place/none.yml"
