#!/usr/bin/env bash
# The harness's OpenMetrics, read by the parser of prometheus-client: live while two
# scenarios run, and metrics.txt when they have ended. The dashboards ask for nothing
# that is not there.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$place"

/usr/bin/python3 -c 'import prometheus_client' 2>/dev/null || {
    echo "skipped: python3-prometheus-client is not installed"
    exit 77
}

expect_exit 64 "$mailproof" run --metrics nowhere steady
grep -q -- "--metrics: 'nowhere' is not an address" err || fail "not named: $(cat err)"
expect_exit 64 "$mailproof" run --metrics 127.0.0.1:0 --every-cut steady
grep -q -- '--metrics does not go with --every-cut' err || fail "not named: $(cat err)"

cat >first.yaml <<'YAML'
name: first
summary: A short load with a fault.
load: [{for: 2s, rate: 50/s}]
faults: [{at: 1s, do: terminate-backend, target: collector}]
YAML
sed 's/^name: .*/name: second/; s/^faults.*//' first.yaml >second.yaml
"$mailproof" run --metrics "$place/live" --set slack=30s --set drain=30s --out results first.yaml second.yaml >run.out 2>&1 &
run=$!
trap 'kill $run 2>/dev/null || true; wait $run || true; rm -rf "$place"' EXIT

# until_live PATTERN: scrapes until a line matches, and keeps that scrape.
until_live() {
    local deadline=$((SECONDS + 120))
    until "$SOURCE_DIR/ci/openmetrics" live >scraped 2>err && grep -Eq "$1" scraped; do
        kill -0 $run 2>/dev/null || fail "the run ended before it showed $1: $(cat run.out err)"
        [ "$SECONDS" -lt "$deadline" ] || fail "it never showed $1: $(cat scraped err)"
        sleep 0.1
    done
}

until_live '^mailproof_run_delivered_tokens_total\{scenario="first"\} [1-9]'
cp scraped during
grep -qx 'mailproof_run_planned_tokens{scenario="first"} 1[0-9]*' during || fail "$(cat during)"
grep -qx 'mailproof_run_planned_faults{scenario="first"} 1' during || fail "$(cat during)"
until_live '^mailproof_run_phase\{phase="[a-z]*",scenario="second"\} 1$'
grep -Eq '^mailproof_verdict\{mailproof_verdict="pass",scenario="first",seed="1"\} 1$' scraped ||
    fail "the first run's verdict is not shown: $(cat scraped)"
grep -qx 'mailproof_runs_total{verdict="pass"} 1' scraped || fail "$(cat scraped)"
cp scraped between
wait $run || fail "the runs did not pass: $(cat run.out)"
trap 'rm -rf "$place"' EXIT
[ ! -e live ] || fail "the socket is left behind"

# The file agrees with result.json, and with what was served.
"$SOURCE_DIR/ci/openmetrics" results/first/latest/metrics.txt >file
/usr/bin/python3 - results/first/latest/result.json file between <<'PYTHON'
import json, sys

result = json.load(open(sys.argv[1]))
file, between = ([l.strip().rsplit(" ", 1) for l in open(name)] for name in sys.argv[2:])
file, between = dict(file), dict(between)
labels = '{scenario="first",seed="1"}'
assert float(file["mailproof_delivered" + labels]) == result["tokens"]["delivered"] > 0
p50 = float(file["mailproof_latency_p50_seconds" + labels])
assert abs(p50 * 1000 - result["metrics"]["latency.p50"]) < 1e-3 * p50 * 1000 + 1e-3
assert file.items() <= between.items(), set(file.items()) - set(between.items())
PYTHON
# A dashboard asks for no metric and no label that nobody serves.
/usr/bin/python3 - "$SOURCE_DIR" during between <<'PYTHON'
import json, re, sys

source, scrapes = sys.argv[1], sys.argv[2:]
words = {"by", "le", "histogram_quantile", "sum", "max", "min", "rate", "increase", "instance"}


def of_samples(lines):
    names = [re.findall(r"[a-z_0-9]+(?==\")|^[a-z_0-9]+", line) for line in lines]
    return {name for line in names for name in line}


def of_page():
    cells = re.findall(r"^\| `([^|]*)` \|", open(source + "/collector/METRICS.md").read(), re.M)
    return of_samples(cell.replace("` `", " ") for cell in cells if cell.startswith("mailroom_"))


def asked(dashboard):
    board = json.load(open(f"{source}/ci/examples/grafana/{dashboard}.json"))
    for panel in board["panels"]:
        for target in panel["targets"]:
            # Leaves only the names of metrics and labels, without label values and
            # ranges.
            text = re.sub(r'"[^"]*"|\[[^]]*\]', "", target["expr"])
            names = {re.sub("(_seconds)_(bucket|count)$", r"\1", name)
                     for name in re.findall(r"[a-z_][a-z_0-9]*", text)} - words
            assert names, target
            yield from names
            yield from re.findall(r"{{(\w+)}}", target["legendFormat"])


served = {line for name in scrapes for line in open(name)}
for dashboard, there in ("collector", of_page() | {"instance"}), ("harness", of_samples(served)):
    names = set(asked(dashboard))
    assert len(names) > 10, names
    assert names <= there, (dashboard, names - there)
PYTHON
echo "others see what it does"
