#!/bin/sh
# Prometheus' own promtool reads the alert rules, and plays a good and a bad hour to them. Each rule is
# played, and asks only for what the collector serves.
set -eu

rules=$SOURCE_DIR/ci/examples/grafana/alerts.yml
played=$SOURCE_DIR/collector/tests/alerts_test.yml

for alert in $(sed -n 's/.*- alert: //p' "$rules"); do
    grep -q "alertname: $alert$" "$played" || { echo "alerts_test.yml does not play $alert"; exit 1; }
done
sed '/^ *#/d' "$rules" | grep -o 'mailroom_[a-z_]*' | sort -u | while read -r name; do
    case $name in mailroom_late) continue ;; esac # the rules' own
    grep -q "^| \`${name%_bucket}\`\|^| \`${name%_count}\`\|^| \`$name\`" "$SOURCE_DIR/collector/METRICS.md" ||
        { echo "alerts.yml asks for $name, which METRICS.md does not have"; exit 1; }
done

promtool=$BUILD_DIR/prometheus/usr/bin/promtool
[ -x "$promtool" ] || promtool=$(command -v promtool) ||
    { echo "skipped: no promtool (ci/unpack prometheus $BUILD_DIR/prometheus)"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cp "$rules" "$played" "$dir"
"$promtool" check rules "$dir/alerts.yml"
"$promtool" test rules "$dir/alerts_test.yml"
