#!/usr/bin/env bash
# What other programs rely on is what results/contract/ says, or more. ci/contract notices a line that
# is gone or was changed, and does not mind a new one.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"

got=0
"$SOURCE_DIR/ci/contract" >"$place/out" 2>"$place/err" || got=$?
[ "$got" != 77 ] || { cat "$place/out" && exit 77; }
[ "$got" = 0 ] || { cat "$place/out" "$place/err" >&2 && fail "the contract is broken (ci/contract)"; }

cp -r "$SOURCE_DIR/results/contract" "$place/contract"
sed -i 1d "$place/contract/schema.txt"
sed -i 's/^line 1,/line 3,/' "$place/contract/wire.txt"
echo 'verdict_of_old' >>"$place/contract/result.txt"
LC_ALL=C sort -o "$place/contract/result.txt" "$place/contract/result.txt"
CONTRACT=$place/contract expect_exit 1 "$SOURCE_DIR/ci/contract"
grep -q '^result.txt: gone: verdict_of_old$' "$place/out" || fail "$(cat "$place/out")"
grep -q '^wire.txt: gone: line 3,' "$place/out" || fail "$(cat "$place/out")"
grep -q '^schema.txt: new: channel token_insert$' "$place/out" || fail "$(cat "$place/out")"
[ "$(grep -c ': gone: ' "$place/out")" = 2 ] || fail "$(cat "$place/out")"
expect_nothing_left

# A release changes two texts: the version, and the heading of what is in it.
expect_exit 0 "$SOURCE_DIR/ci/release" --texts 99.0.0
grep -q '^+project(mailproof VERSION 99.0.0 ' "$place/out" || fail "$(cat "$place/out")"
grep -q '^+## 99.0.0 (20' "$place/out" || fail "$(cat "$place/out")"
expect_exit 64 "$SOURCE_DIR/ci/release" --texts 0.0.1
expect_exit 64 "$SOURCE_DIR/ci/release" --texts 1.0
