#!/usr/bin/env bash
# 'mailproof field --finding' installs the pinned version by itself, into the cache and nowhere else,
# says why it cannot, and needs no network once it has.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"

# pg-boss 8.3.1 is the smallest, and runs on Debian's Node.js.
main() {
    command -v npm >/dev/null || { echo "skipped: there is no npm" && exit 77; }
    chmod 755 "$place/tmp"
    install_program
    export XDG_CACHE_HOME=$place/cache
    says_why_it_cannot
    installs_nothing_when_told_so
    npm view pg-boss@8.3.1 version >/dev/null 2>&1 || { echo "skipped: npm's registry cannot be reached" && exit 77; }
    installs_and_runs
    needs_no_network_afterwards
    goes_on_after_an_interrupted_installation
    [ -z "$(find "$place/usr" -name node_modules)" ] || fail "modules beside the program"
    expect_nothing_left
}

# As a package brings it: the source tree may have the modules.
install_program() {
    cmake --install "$BUILD_DIR" --prefix "$place/usr" >"$place/out"
    mkdir "$place/cache"
    mailproof=$place/usr/bin/mailproof
}

finding() { # options
    "$mailproof" field --finding pg-boss-365 --repeat 1 --out "$place/results" "$@"
}

# Nobody listens at this address, and npm's cache is empty.
offline() {
    npm_config_registry=http://127.0.0.1:9 npm_config_fetch_retries=0 npm_config_cache=$place/npm "$@"
}

says_why_it_cannot() {
    expect_exit 77 offline finding
    grep -q 'skipped: .* cannot be installed: npm ci failed .*ECONNREFUSED' "$place/out" || fail "no reason: $(cat "$place/out")"
}

installs_nothing_when_told_so() {
    expect_exit 77 finding --no-install
    grep -q 'is not installed here' "$place/out" || fail "$(cat "$place/out")"
}

# On a busy machine a run may be inconclusive (2), or show nothing (0).
ran() { # COMMAND…
    local code=0
    "$@" >"$place/out" 2>"$place/err" || code=$?
    [ "$code" -le 2 ] && grep -q 'seen in [01] of [01] runs' "$place/out" && ! grep 'not run' "$place/err" || { cat "$place/out" "$place/err" && fail "exit code $code: $*"; }
}

installs_and_runs() {
    ran finding
    grep -q "installing in $place/cache/mailproof/subjects/" "$place/err" || fail "does not say what it installs: $(cat "$place/err")"
}

needs_no_network_afterwards() {
    ran offline finding --control
    ! grep -q installing "$place/err" || fail "installs again"
}

goes_on_after_an_interrupted_installation() {
    local modules=$place/cache/mailproof/subjects/defects/pg-boss-365/node_modules
    rm -r "$modules/boss-8.4.2" "$modules/.installed"
    ran finding --control
}

main "$@"
