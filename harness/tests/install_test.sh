#!/usr/bin/env bash
# The installed programs find their scenarios and migrations.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"

cmake --install "$BUILD_DIR" --prefix "$place/usr" >"$place/out"
mailproof=$place/usr/bin/mailproof
[ -x "$place/usr/bin/mailroom-collector" ] || fail "the collector is not installed"
expect_exit 0 "$mailproof" list
grep -q '^  steady ' "$place/out" || fail "the installed mailproof has no scenarios"
grep -q '^.B .-.-min.-effect' "$place/usr/share/man/man1/mailproof.1" || fail "no manual page"
grep -q '^.B load.N.rate$' "$place/usr/share/man/man1/mailproof.1" || fail "no keys in the manual page"
[ -x "$place/usr/share/mailproof/own/examples/collector.py" ] || fail "no example of a collector"
# shellcheck disable=SC1091
. "$place/usr/share/bash-completion/completions/mailproof"
COMP_WORDS=(mailproof compare --cal) COMP_CWORD=2
_mailproof
[ "${COMPREPLY[*]}" = --calibrate ] || fail "no completion of options"
COMP_WORDS=(mailproof ru) COMP_CWORD=1
_mailproof
[ "${COMPREPLY[*]}" = run ] || fail "no completion of commands"
PATH=$place/usr/bin:$PATH
COMP_WORDS=(mailproof run st) COMP_CWORD=2
_mailproof
[ "${COMPREPLY[*]}" = steady ] || fail "no completion of scenarios: ${COMPREPLY[*]}"
COMP_WORDS=(mailproof run text) COMP_CWORD=2
_mailproof
[ "${COMPREPLY[*]}" = '' ] || fail "a subject is completed as a scenario: ${COMPREPLY[*]}"
COMP_WORDS=(mailproof field text) COMP_CWORD=2
_mailproof
[ "${COMPREPLY[*]}" = textbook ] || fail "no completion of subjects: ${COMPREPLY[*]}"
COMP_WORDS=(mailproof run --out st) COMP_CWORD=3
_mailproof
[ "${COMPREPLY[*]}" = '' ] || fail "a folder is completed as a scenario: ${COMPREPLY[*]}"
COMP_WORDS=(mailproof run --keep st) COMP_CWORD=3
_mailproof
[ "${COMPREPLY[*]}" = steady ] || fail "no scenario behind a flag: ${COMPREPLY[*]}"
COMP_WORDS=(mailproof run --postgres c) COMP_CWORD=3
_mailproof
[ "${COMPREPLY[*]}" = container ] || fail "no completion of providers: ${COMPREPLY[*]}"
COMP_WORDS=(mailproof run --subject text) COMP_CWORD=3
_mailproof
[ "${COMPREPLY[*]}" = textbook ] || fail "no subject behind --subject: ${COMPREPLY[*]}"
COMP_WORDS=(mailproof run --tag qui) COMP_CWORD=3
_mailproof
[ "${COMPREPLY[*]}" = quick ] || fail "no completion of tags: ${COMPREPLY[*]}"
compopt() { :; } # It works only while a shell completes.
COMP_WORDS=(mailproof run --set load.0.ra) COMP_CWORD=3
_mailproof
[ "${COMPREPLY[*]}" = 'load.0.rate=' ] || fail "no completion of keys: ${COMPREPLY[*]}"
if command -v fish >/dev/null; then
    echo "complete -C 'mailproof compare --cal'" |
        cat "$place/usr/share/fish/vendor_completions.d/mailproof.fish" - | fish --no-config |
        grep -q '^--calibrate' || fail "no completion for fish"
fi
if command -v zsh >/dev/null; then
    zsh -n "$place/usr/share/zsh/vendor-completions/_mailproof" || fail "no completion for zsh"
fi
for program in mailroom-collector mailroom-sender; do
    grep -q '^.SH ENVIRONMENT' "$place/usr/share/man/man1/$program.1" || fail "no manual page of $program"
    expect_exit 0 "$place/usr/bin/$program" --version
    grep -q "^$program [0-9]" "$place/out" || fail "$program does not say its version"
done
cd /
expect_exit 0 run steady --set load.0.for=1s
# Without a folder `scenarios` here, the word means the installed scenarios.
expect_exit 64 "$mailproof" run scenarios --tag no-such-tag
grep -q "no scenario carries the tag" "$place/err" || fail "no scenarios: $(cat "$place/err")"
expect_nothing_left
