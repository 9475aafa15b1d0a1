#!/usr/bin/env bash
# actionlint and gitlab-ci-local understand our workflows and the samples, and refuse one that puts text
# of others into a command, a wrong key, and a job that is not there. The commands of the samples do what
# they are for.
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
for damage in 's/parallel: 4/paralel: 4/' 's/needs: .search./needs: [serch]/' 's/stage: merge/stage: later/'; do
    sed "$damage" "$SOURCE_DIR/ci/examples/gitlab.yml" >"$place/gitlab-bad.yml"
    ! cmp -s "$SOURCE_DIR/ci/examples/gitlab.yml" "$place/gitlab-bad.yml" || fail "$damage finds nothing"
    expect_exit 1 "$SOURCE_DIR/ci/lint-workflows" "$place/gitlab-bad.yml"
    grep -qE 'paralel|serch|later' "$place/err" || fail "$damage: refused for another reason: $(cat "$place/err")"
done

# The commands of the shards, and of the job after them, do what the samples need, with two shards and
# other draws. A shell stands in for the runner.
/usr/bin/python3 -c 'import yaml' 2>/dev/null || {
    echo "skipped: python3-yaml is not installed"
    exit 77
}
cat >"$place/samples.py" <<'PYTHON'
import os, re, sys, yaml

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

def texts(node):
    for each in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from texts(each)
    if isinstance(node, str):
        yield node

compose = yaml.safe_load(open(examples + "/compose.yaml"))["services"]["mailproof"]["command"]
calls = {" ".join(["mailproof", *compose])}
for sample in github, gitlab, yaml.safe_load(open(examples + "/github.yml")):
    for text in texts(sample):
        text = text.replace("\\\n", " ")
        calls |= set(re.findall(r"mailproof/build-release/bin/(mailproof [^|;\n]*)", text))
        for script in re.findall(r"mailproof/(ci/[a-z-]+)", text):
            assert os.access(f"{examples}/../../{script}", os.X_OK), script
calls = sorted(call.replace("${{ matrix.shard }}", "1") for call in calls)
assert len(calls) >= 9, calls
open(to + "/calls", "w").write("".join(call.strip() + "\n" for call in calls))
# The job that gives the verdict, with a scenario of a second.
promises = {yaml.safe_load(open(examples + "/github.yml"))["env"]["PROMISES"], gitlab["variables"]["PROMISES"]}
open(to + "/promises", "w").write("\n".join(promises) + "\n")
verdicts = [call for call in calls if "--promises" in call]
assert len(verdicts) == 2, verdicts
open(to + "/verdicts", "w").write("".join(
    call.replace("mailproof/scenarios --tag quick", "promise-limit --quiet --set load.0.for=1s --set 'expect={}' --set slack=30s --set drain=30s") + "\n"
    for call in verdicts))
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

# mailproof has all options that the samples give it, and takes the promises that they begin with.
cd "$place"
export GITHUB_STEP_SUMMARY=$place/step.md
while read -r call; do
    expect_exit 0 env SHARDS=2 CI_NODE_INDEX=1 CONNINFO=host=db bash -c "$call --help"
done <"$place/calls"
while read -r PROMISES; do
    export PROMISES
    while read -r call; do
        rm -f "$place/junit.xml"
        expect_exit 0 bash -c "$call" </dev/null
        grep -q '<testsuite ' "$place/junit.xml" || fail "no junit.xml by $call"
    done <"$place/verdicts"
done <"$place/promises"
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

# The line for GNU parallel. A script stands in for ssh: each host is a folder.
parallel_sample() {
    local line
    line=$(awk '/^parallel /, /^```/' "$SOURCE_DIR/harness/cli/COMMANDS.md" | sed '/^```/d')
    [[ $line == *'mailproof explore --draws 1600 '*'{1..16}; mailproof merge results' ]] || fail "it reads: $line"
    line=${line/--draws 1600/--draws 2 --only cancel-query,cursor}
    mkdir -p "$place/bin" "$place/parallel/home"
    cat >"$place/bin/ssh" <<'SH'
#!/bin/bash
while [[ $1 == -* ]]; do
    [[ $1 != -l ]] || shift
    shift
done
mkdir -p "$HOSTS/$1" && cd "$HOSTS/$1" || exit 1
shift
[ "$1" != -- ] || shift
HOME=$PWD exec sh -c "$*"
SH
    chmod 755 "$place/bin/ssh"
    cd "$place/parallel"
    mkdir home/.parallel && : >home/.parallel/will-cite # else it asks for a citation
    echo "${line//16/2}" >"$place/parallel-sample"
    PATH=$place/bin:$PATH HOSTS=$place/hosts HOME=$place/parallel/home judges parallel-sample
    grep -q '^  tried  *2 draws' "$place/out" || fail "GNU parallel: $(cat "$place/out")"
    [ "$(find "$place"/hosts/host*/results -maxdepth 1 -name 'shard-*-of-2' | wc -l)" = 2 ] || fail "not on the hosts"
    cd "$place"
}
if command -v parallel >/dev/null && command -v rsync >/dev/null; then
    parallel_sample
else
    echo "without GNU parallel and rsync, which are not installed"
fi
expect_nothing_left
