#!/usr/bin/env bash
# actionlint understands our workflows and the samples, and refuses one that puts text of others into
# a command.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"

code=0
"$SOURCE_DIR/ci/lint-workflows" 2>"$place/err" || code=$?
[ "$code" != 69 ] || { echo "skipped: $(cat "$place/err")"; exit 77; }
[ "$code" = 0 ] || fail "$(cat "$place/err")"
sed 's/run: mailproof\/ci\/install-packages/run: echo ${{ github.event.pull_request.title }}; true/' \
    "$SOURCE_DIR/ci/examples/github.yml" >"$place/bad.yml"
expect_exit 1 "$SOURCE_DIR/ci/lint-workflows" "$place/bad.yml"
grep -q 'potentially untrusted' "$place/err" || fail "refused for another reason: $(cat "$place/err")"
expect_exit 66 "$SOURCE_DIR/ci/lint-workflows" "$place/none.yml"

# The commands of the shards, and of the job after them, do what the samples need, with two shards and
# other draws. A shell stands in for the runner.
/usr/bin/python3 -c 'import yaml' 2>/dev/null || {
    echo "skipped: python3-yaml is not installed"
    exit 77
}
cat >"$place/samples.py" <<'PYTHON'
import sys, yaml

examples, to = sys.argv[1:]

def write(name, text):
    text = text.replace("mailproof/build-release/bin/", "").replace("--draws 400", "--draws 2 --only cancel-query,cursor")
    open(f"{to}/{name}", "w").write(text)

github = yaml.safe_load(open(examples + "/github-shards.yml"))
shard, merge = github["jobs"]["shard"], github["jobs"]["merge"]
step = lambda job, name: next(s["run"] for s in job["steps"] if s.get("name") == name)
upload, = (s["with"] for s in shard["steps"] if s.get("uses", "").startswith("actions/upload-artifact"))
download, = (s["with"] for s in merge["steps"] if s.get("uses", "").startswith("actions/download-artifact"))
assert shard["strategy"]["matrix"]["shard"] == list(range(1, github["env"]["SHARDS"] + 1))
assert merge["needs"] == "shard" and upload["path"] == "results" and upload["name"].startswith(download["pattern"][:-1])
write("github-search", step(shard, "Search").replace("${{ matrix.shard }}", "$CI_NODE_INDEX").replace("$SHARDS", "$CI_NODE_TOTAL"))
write("github-merge", step(merge, "Merge"))

gitlab = yaml.safe_load(open(examples + "/gitlab.yml"))
assert gitlab["merge"]["needs"] == ["search"] and gitlab["search"]["artifacts"]["paths"] == ["results"]
assert gitlab["search"]["parallel"] > 1 and gitlab["search"]["rules"] == gitlab["merge"]["rules"]
assert all(job["stage"] in gitlab["stages"] for job in gitlab.values() if "stage" in job)
write("gitlab-search", gitlab["search"]["script"][-1])
write("gitlab-merge", gitlab["merge"]["script"][-1])
PYTHON
/usr/bin/python3 "$place/samples.py" "$SOURCE_DIR/ci/examples" "$place"
PATH=$(dirname "$mailproof"):$PATH
export COLLECTOR=$BUILD_DIR/bin/mailroom-collector CI_NODE_TOTAL=2 CI_NODE_INDEX
# A draw may be inconclusive on a busy machine.
judges() {
    local code=0
    bash -e "$place/$1" >"$place/out" 2>"$place/err" || code=$?
    [[ $code = [02] ]] && [ ! -s "$place/err" ] || fail "$1: exit code $code: $(cat "$place/out" "$place/err")"
}
for sample in github gitlab; do
    mkdir "$place/$sample" && cd "$place/$sample"
    for CI_NODE_INDEX in 1 2; do
        judges "$sample-search"
        # GitHub keeps each artifact in a folder of its own.
        [ "$sample" = gitlab ] || { mkdir -p shards && mv results "shards/shard-$CI_NODE_INDEX"; }
    done
    judges "$sample-merge"
    grep -q '^  tried  *2 draws' "$place/out" || fail "$sample: $(cat "$place/out")"
    rm -r ./*/*shard-1*
    expect_exit 2 bash -e "$place/$sample-merge"
    grep -q 'shard 1 of 2 is missing' "$place/err" || fail "$sample: $(cat "$place/err")"
done
expect_nothing_left
