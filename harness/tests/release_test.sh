#!/usr/bin/env bash
# ci/release prepares a version in a clone: a tag, sources, packages, changes and sums that fit each
# other. The caller's checkout stays as it is, and the command that it prints takes all of it back.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"

skip() {
    echo "skipped: $*"
    exit 77
}
for needed in git jq lintian dpkg-shlibdeps; do
    command -v $needed >/dev/null || skip "$needed is not installed"
done
[ -z "${SANITIZE-}" ] || skip "packages are built without sanitizers"
git -C "$SOURCE_DIR" rev-parse -q --verify HEAD >/dev/null || skip "no repository of git"
git clone -q "$SOURCE_DIR" "$place/clone" 2>"$place/err" || fail "$(cat "$place/err")"
cd "$place/clone"
git config user.name Somebody
git config user.email somebody@example.com
before=$(git rev-parse HEAD)

# The image has a test of its own, and takes minutes.
release() {
    env -u BUILD_DIR -u SOURCE_DIR -u MAILPROOF_TMPDIR ENGINE=no-engine ci/release "$@"
}
expect_exit 0 release 99.0.0
grep -q '^no image: no-engine is not installed$' "$place/out" || fail "$(cat "$place/out")"
back=$(sed -n '/^To take it back:/{n;p}' "$place/out")
[ "$(git rev-parse HEAD)" = "$before" ] && [ -z "$(git status --porcelain)" ] || fail "the checkout was changed"
[ "$(git rev-parse v99.0.0~)" = "$before" ] || fail "the tag does not follow the checkout"
git show v99.0.0:CHANGELOG.md | grep -A 2 '^## Unreleased$' | grep -q '^## 99.0.0 (20' || fail "no heading"

cd build-99.0.0/out
sha256sum --check --quiet SHA256SUMS || fail "the sums are of other files"
[ "$(cut -c 67- SHA256SUMS | sort)" = "$(find . -type f ! -name SHA256SUMS -printf '%P\n' | sort)" ] ||
    fail "not of all files: $(cat SHA256SUMS)"
[ -s CHANGES-99.0.0.md ] && ! grep -q '^## ' CHANGES-99.0.0.md || fail "which changes?"
tar -xzOf mailproof-99.0.0.tar.gz mailproof-99.0.0/CMakeLists.txt | grep -q '^project(mailproof VERSION 99.0.0 ' ||
    fail "sources of another version"
packages=(*.deb)
[ ${#packages[@]} -ge 2 ] || fail "packages: ${packages[*]}"
for package in "${packages[@]}"; do
    [[ $(dpkg-deb -f "$package" Version) = 99.0.0* ]] || fail "$package is of another version"
done
grep -q '"99.0.0' mailproof.spdx.json || fail "mailproof.spdx.json is of another version"
cd "$place/clone"

expect_exit 64 release 99.0.0
grep -q 'there is a tag v99.0.0 already' "$place/err" || fail "$(cat "$place/err")"
bash -ec "$back"
[ -z "$(git tag)$(git branch --list 'release-*')" ] && [ ! -e build-99.0.0 ] || fail "not taken back by: $back"
expect_nothing_left
