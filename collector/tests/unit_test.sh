#!/bin/sh
# systemd understands each line of the unit, and finds it well confined: below 2.0 of 10.
set -eu

command -v systemd-analyze >/dev/null || { echo "skipped: systemd is not installed here"; exit 77; }
dir=$(mktemp -d /tmp/mailroom-unit.XXXXXX)
trap 'rm -rf "$dir"' EXIT
sed "s#/usr/bin/mailroom#$BUILD_DIR/bin/mailroom#g" "$SOURCE_DIR/collector/mailroom-collector@.service" \
    >"$dir/mailroom-collector@.service"
found=$(systemd-analyze verify --man=no "$dir/mailroom-collector@.service" 2>&1 | grep -F mailroom-collector@ || true)
[ -z "$found" ] || { echo "FAILED: $found"; exit 1; }
level=$(systemd-analyze security --offline=yes --no-pager "$dir/mailroom-collector@.service" 2>/dev/null |
    sed -n 's/.*exposure level for [^ ]*: \([0-9.]*\).*/\1/p')
echo "exposure level $level"
awk -v level="$level" 'BEGIN { exit !(level != "" && level < 2) }' || { echo "FAILED: not below 2.0"; exit 1; }
