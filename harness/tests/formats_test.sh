#!/usr/bin/env bash
# What other programs read: metrics.txt by prometheus-client's OpenMetrics parser,
# the traces by Python's JSON. Stages nest in their token and add up to it.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"

expect_exit 0 run backend-kill-storm --set load.0.for=2s \
    --set 'faults=[{at: 1s, do: terminate-backend, target: collector}]'
folder=$place/results/backend-kill-storm/latest
expect_exit 0 "$mailproof" report --trace "$folder"

/usr/bin/python3 - "$folder" <<'PYTHON'
import collections, json, sys

folder = sys.argv[1]
result = json.load(open(folder + "/result.json"))
delivered = result["tokens"]["delivered"]
assert delivered > 0

# Chrome's format: each slice begins and ends, and what is inside one ends before it.
events = json.load(open(folder + "/trace.json"))["traceEvents"]
tokens = faults = 0
open_slices = collections.defaultdict(list)
for event in events:
    if event["ph"] == "b":
        open_slices[event["id"]].append(event)
        tokens += event["name"] == "token"
        faults += event["cat"] == "fault"
assert tokens == delivered and faults == 1, (tokens, delivered, faults)
ends = collections.Counter(e["id"] for e in events if e["ph"] == "e")
assert ends == {id: len(slices) for id, slices in open_slices.items()}

# OTLP: children lie in their parent, and a token's four stages are all of it.
spans = json.load(open(folder + "/trace.otlp.json"))["resourceSpans"][0]["scopeSpans"][0]["spans"]
by_id = {(s["traceId"], s["spanId"]): s for s in spans}
assert len(by_id) == len(spans)
sums = collections.Counter()
for s in spans:
    int(s["traceId"], 16), int(s["spanId"], 16)
    assert len(s["traceId"]) == 32 and len(s["spanId"]) == 16
    took = int(s["endTimeUnixNano"]) - int(s["startTimeUnixNano"])
    assert took >= 0, s
    if "parentSpanId" in s:
        parent = by_id[s["traceId"], s["parentSpanId"]]
        assert int(parent["startTimeUnixNano"]) <= int(s["startTimeUnixNano"])
        assert int(parent["endTimeUnixNano"]) >= int(s["endTimeUnixNano"])
        sums[s["traceId"], s["parentSpanId"]] += took
for key, total in sums.items():
    assert total == int(by_id[key]["endTimeUnixNano"]) - int(by_id[key]["startTimeUnixNano"])
assert len(sums) == delivered

try:
    from prometheus_client.openmetrics.parser import text_string_to_metric_families
except ImportError:
    print("left out: python3-prometheus-client is not installed")
else:
    families = {f.name: f for f in text_string_to_metric_families(open(folder + "/metrics.txt").read())}
    assert families["mailproof_delivered"].samples[0].value == delivered
    assert {s.labels["mailproof_verdict"]: s.value for s in families["mailproof_verdict"].samples}["pass"] == 1
    p50 = families["mailproof_latency_p50_seconds"].samples[0].value
    assert abs(p50 * 1000 - result["metrics"]["latency.p50"]) < 1e-3 * p50 * 1000 + 1e-3
PYTHON
echo "other programs can read it"
