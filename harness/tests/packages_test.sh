#!/usr/bin/env bash
# The Debian packages are built and clean, and what is in them runs.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"

if ! command -v lintian >/dev/null || ! command -v dpkg-shlibdeps >/dev/null; then
    echo "skipped: lintian and dpkg-dev are not installed here"
    exit 77
fi
if [ -n "${SANITIZE-}" ]; then
    echo "skipped: packages are built without sanitizers"
    exit 77
fi
"$SOURCE_DIR/ci/package" >"$place/out" 2>&1 || { cat "$place/out" >&2 && fail "no packages"; }
for package in "$SOURCE_DIR"/build-packages/out/*.deb; do dpkg -x "$package" "$place/root"; done

# hardened PROGRAM…: it has what its compiler and linker can give.
hardened() {
    local program headers names
    for program; do
        names=$(nm -D "$program")
        headers=$(readelf -Wld "$program")
        grep -q 'GNU_RELRO' <<<"$headers" && grep -q 'BIND_NOW' <<<"$headers" || fail "$program: no full RELRO"
        grep -q 'Flags:.*PIE' <<<"$headers" || fail "$program: it is not position-independent"
        ! grep -q 'GNU_STACK.*RWE' <<<"$headers" || fail "$program: its stack can be executed"
        grep -q '__stack_chk_fail' <<<"$names" || fail "$program: no stack protector"
        [ "$(uname -m)" != x86_64 ] || objdump -d "$program" | grep endbr64 >/dev/null || fail "$program: no control-flow protection"
        ! strings "$program" | grep "^$SOURCE_DIR/" >/dev/null || fail "$program: it names the folder of its build"
    done
}

mapfile -t programs < <(find "$place/root" -type f -perm /111 -exec sh -c 'head -c 4 "$1" | grep -q ELF' - {} \; -print)
[ ${#programs[@]} -ge 3 ] || fail "which programs? ${programs[*]}"
hardened "${programs[@]}"
for program in mailroom-collector mailproof; do
    nm -D "$place/root/usr/bin/$program" | grep '_chk$\|_chk@' >/dev/null || fail "$program: no fortified call"
done

doc=$place/root/usr/share/doc
for file in mailproof/README.md mailproof/harness/cli/COMMANDS.md mailproof/harness/report/FAILURES.md \
    mailproof/examples/github.yml mailproof/examples/grafana/harness.json mailroom-collector/CHANGELOG.md.gz \
    mailroom-collector/collector/INSTALL.md mailroom-collector/examples/grafana/alerts.yml \
    mailroom-collector/examples/grafana/collector.json; do
    [ -s "$doc/$file" ] || fail "no $file in the packages"
done
# A mended one, one that held, and none that leads nowhere.
grep -q '(\.\./mailroom-collector/collector/INSTALL\.md)' "$doc/mailproof/README.md" || fail "the README does not lead to INSTALL.md"
grep -q '(harness/cli/COMMANDS\.md)' "$doc/mailproof/README.md" || fail "the README does not lead to COMMANDS.md"
while IFS=: read -r page link; do
    link=${link#](} link=${link%[)#]}
    [ -e "$(dirname "$page")/$link" ] || fail "$page leads to $link, which no package has"
done < <(grep -roE --include='*.md' '\]\([^)#:[:space:]]+[)#]' "$place/root/usr/share")
[ -s "$place/root/usr/lib/systemd/system/mailroom-collector@.service" ] || fail "no unit"
mailproof=$place/root/usr/bin/mailproof
cd /
expect_exit 0 run steady --set load.0.for=1s
expect_nothing_left
