#!/usr/bin/env bash
# Reads the files that are for other programs: the traces and the histories of tokens. The stages of
# a token nest in it and add up to it.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$place"

expect_exit 0 run backend-kill-storm --set load.0.for=2s \
    --set 'faults=[{at: 1s, do: terminate-backend, target: collector}]'
folder=$place/results/backend-kill-storm/latest
expect_exit 0 "$mailproof" report --trace --tokens "$folder"

/usr/bin/python3 - "$folder" <<'PYTHON'
import collections, json, sys

folder = sys.argv[1]
result = json.load(open(folder + "/result.json"))
delivered = result["tokens"]["delivered"]
assert delivered > 0

# Chrome's format: each slice that begins also ends.
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

# OTLP: child spans lie within their parent's time, and the four stages of a token fill
# all of its span.
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

# The rows and the objects say the same about each token, and the same as result.json.
import csv
rows = list(csv.DictReader(open(folder + "/tokens.csv", newline="")))
objects = [json.loads(line) for line in open(folder + "/tokens.jsonl")]
assert len(rows) == len(objects) > 0
assert sum(int(row["deliveries"]) for row in rows) == delivered
assert sum(row["outcome"] == "committed" for row in rows) == result["tokens"]["committed"]
for row, token in zip(rows, objects):
    assert (row["login"], int(row["token"])) == (token["login"], token["token"])
    assert (row["committed"] == "1") == token["committed"]
    assert int(row["deliveries"]) == len(token["deliveries"])
    if token["deliveries"]:
        first = token["deliveries"][0]
        assert abs(float(row["read_s"]) - first["read_s"]) < 2e-6
        assert abs((first["read_s"] - token["intended_s"]) * 1000 - float(row["latency_ms"])) < 3e-3
        assert first["line_tokens"] == int(row["line_tokens"]) > 0
    else:
        assert row["read_s"] == row["latency_ms"] == row["line"] == ""
longest = max(float(row["latency_ms"]) for row in rows if row["latency_ms"])
assert abs(longest - result["latency_ms"]["from_intended"]["max"]) < 1 + longest / 500
PYTHON

# The picture of one token shows its whole life, and loads nothing from elsewhere.
login=$(awk -F, 'NR > 1 && $6 > 1.05 && $16 != "" { print $2; exit }' "$folder/tokens.csv")
expect_exit 0 "$mailproof" check --token "$login" --html token.html "$folder"
grep -q "^$login " out || fail "not told: $(cat out)"
awk '$2 == "s" { if ($1 < last) exit 1; last = $1 }' out || fail "not in the order of time: $(cat out)"
for class in sent commit wait process read fault; do
    [ "$(grep -c "class=\"$class\"" token.html)" -ge 1 ] || fail "the picture has no $class"
done
/usr/bin/python3 - token.html <<'PYTHON'
import sys, xml.etree.ElementTree as tree
page = open(sys.argv[1]).read()
picture = tree.fromstring(page[page.index("<svg"):page.index("</svg>") + 6])
assert len(picture.findall("circle")) == 1, "it is read once"
assert "://" not in page
PYTHON
# The key has the colours of the picture, and no other.
for class in lag sent commit wait never read torn process fault; do
    n=$(grep -c "class=\"$class\"" token.html || true)
    [ "$n" != 1 ] || fail "the key and the picture differ in $class"
done
expect_exit 64 "$mailproof" check --html token.html "$folder"
grep -q -- '--token' err || fail "not named: $(cat err)"

# In leased mode the life shows each attempt with its answer, and what the database has
# recorded.
mkdir leased
cat >leased/leased.yaml <<'YAML'
name: leased
summary: Half of the attempts fail for a while, a few are never answered.
collector:
  dequeue: leased
  batch_timeout: 50ms
  env: {MAILROOM_RETRY_BASE: "20", MAILROOM_RETRY_MAX: "50", MAILROOM_ANSWER_TIMEOUT: "500", MAILROOM_IN_FLIGHT: "64"}
  sender: {error: 40%, hang: 5%, delay: 1ms..5ms}
load: [{for: 1s, rate: 100/s}]
drain: 20s
allow: {early: any, late: any} # retries make short lines
YAML
expect_exit 0 run --out results leased/leased.yaml
leased=$(readlink -f results/leased/latest)
expect_exit 0 "$mailproof" report --tokens "$leased"
/usr/bin/python3 - "$leased" "$mailproof" <<'PYTHON'
import json, subprocess, sys
folder, mailproof = sys.argv[1:]
# True when the line begins with that time, which the two files round differently.
def at(line, time_s):
    return line[11:15] == " s  " and abs(float(line[:11]) - time_s) < 0.002

words = {"sent": "answered with sent", "transient": "answered with a transient error"}
told = {"sent": 0, "transient": 0, "never": 0}
for line in open(folder + "/tokens.jsonl"):
    token = json.loads(line)
    if len(token["deliveries"]) < 2:
        continue
    life = subprocess.run([mailproof, "check", folder, "--token", token["login"]],
                          check=True, capture_output=True, text=True).stdout.splitlines()
    attempts = [l for l in life if " attempt " in l]
    for number, d in enumerate(token["deliveries"], 1):
        read = attempts.pop(0)
        assert at(read, d["read_s"]) and read[15:].startswith(f"attempt {number}, "), (read, d)
        name = read.split(", ")[1].split(":")[0]
        told[d["reply"]] += 1
        assert read.endswith("; never answered") == (d["reply"] == "never"), (read, d)
        if d["reply"] != "never":
            answer = attempts.pop(0)
            assert at(answer, d["replied_s"]) and answer[15:].startswith(
                f"attempt {number}, {name}: {words[d['reply']]}, after "), (answer, d)
    assert not attempts, attempts
    n = len(token["deliveries"])
    assert life[-1].endswith(f"{n} deliveries, recorded: sent after {n} attempts"), life[-1]
assert all(told.values()), told
PYTHON

# A phase without a token measures nothing, and says so in words.
mkdir empty
cat >empty/empty.yaml <<'YAML'
name: empty
summary: A phase without any token, whose objectives cannot be measured.
load: [{for: 300ms, rate: 0/s}]
drain: 1s
expect: {latency.p99: < 1s, recovery.max: < 1s}
YAML
expect_exit 2 "$mailproof" run --out "$place/results" empty/empty.yaml
grep -q 'expect  *latency.p99 < 1s: not measured, cannot be judged' out || fail "not told: $(cat out)"
cp out "$place/results/empty/latest/"
! grep -rwil --exclude=report.html --exclude=latency.hlog nan "$place/results/empty/latest/" ||
    fail "a figure that was not measured is printed as nan"
echo "other programs can read it"
