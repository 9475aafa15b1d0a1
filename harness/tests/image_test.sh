#!/usr/bin/env bash
# The image that ci/image builds without a registry: it gives verdicts with their exit codes, the
# results belong to the owner of the folder, and it runs as the samples for Kubernetes start it: two
# shards and the merge after them.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=harness/tests/engine.sh
. "$(dirname "$0")/engine.sh"

skip() {
    echo "skipped: $*"
    exit 77
}

command -v mmdebstrap >/dev/null || skip "mmdebstrap is not installed"
find_engine || skip "$why"
code=0
ENGINE=$engine "$SOURCE_DIR/ci/image" "$image" >"$place/out" 2>"$place/err" || code=$?
[ "$code" != 69 ] || skip "$(tail -n 1 "$place/err")"
# An engine that may not start a container cannot build an image, either.
! grep -qE 'OCI|(runc|crun): ' "$place/err" || skip "$engine cannot run a container here: $(tail -n 1 "$place/err")"
[ "$code" = 0 ] || fail "no image was built: $(cat "$place/err")"

# contained RESULTS OPTION… -- ARGUMENT…: runs mailproof in a container that has no network.
contained() {
    local results=$1 options=()
    shift
    while [ "$1" != -- ]; do options+=("$1") && shift; done
    "$engine" run --rm --network=none -v "$results:/results" "${options[@]}" "$image" "${@:2}"
}
short=(--quiet --set load.0.for=2s --set load.0.rate=50/s --set slack=30s --set drain=30s --set recovery_limit=30s)

# The folder is root's, as that of a test, so that it goes to the image's user.
mkdir "$place/roots"
expect_exit 0 contained "$place/roots" -- run steady "${short[@]}" --set 'expect={}'
grep -q '^steady: pass' "$place/out" || fail "no verdict: $(cat "$place/out")"
[ "$(stat -c %u "$place"/roots/steady/latest/report.html)" = 1000 ] || fail "not the image's user"

# Anybody else's stays theirs, and the exit code of a broken promise comes out.
mkdir "$place/theirs"
chown 4321 "$place/theirs"
expect_exit 1 contained "$place/theirs" -- run steady "${short[@]}" --set 'expect.lost=> 5'
[ "$(stat -c %u "$place/theirs" "$place"/theirs/steady/latest/report.html | sort -u)" = 4321 ] ||
    fail "not the folder's owner"

# As Kubernetes starts it: a user without rights, and nothing writable but the volumes.
mkdir "$place/pod" "$place/work"
chown 1000:1000 "$place/pod" "$place/work"
expect_exit 0 contained "$place/pod" --read-only --user 1000:1000 --cap-drop ALL --tmpfs /tmp -v "$place/work:/var/tmp" -- \
    run steady "${short[@]}" --set 'expect={}' --out=/results --junit=/results/junit.xml
grep -q '<testsuite ' "$place/pod/junit.xml" || fail "no junit.xml"

# The pods of two shards, one after the other, and the pod that merges, with the commands, variables,
# volumes and rights that their Jobs give them, but with few draws. Memory is not limited, because an
# engine cannot do that everywhere.
cat >"$place/pods.py" <<'PYTHON'
import shlex, sys, yaml

folder, to = sys.argv[1:]
places = {"results": "$results", "work": "$work"}
for name in "shards", "merge":
    pod = yaml.safe_load(open(f"{folder}/{name}/job.yaml"))["spec"]["template"]["spec"]
    container, rights = pod["containers"][0], pod["securityContext"]
    held = container["securityContext"]
    options = ["--read-only"] if held["readOnlyRootFilesystem"] else []
    options += [] if held["allowPrivilegeEscalation"] else ["--security-opt=no-new-privileges"]
    options += ["--cap-drop=" + drop for drop in held["capabilities"]["drop"]]
    options += ["--user=%d:%d" % (rights["runAsUser"], rights["runAsGroup"])]
    options += [f"--env={e['name']}={2 if e['name'] == 'SHARDS' else e['value']}" for e in container.get("env", [])]
    mounts = ["--tmpfs=" + m["mountPath"] if m["name"] == "tmp" else '"--volume=' + places[m["name"]] + ":" + m["mountPath"] + '"'
              for m in container["volumeMounts"]]
    command = container.get("command", [])
    words = [a.replace("--draws=400", "--draws=2").replace("--jobs=2", "--jobs=1") for a in command[1:] + container["args"]]
    entry = ["--entrypoint=" + command[0]] if command else []
    words += ["--only=cancel-query,cursor"] if name == "shards" else []
    with open(f"{to}/{name}.sh", "w") as out:
        out.write(" ".join(["exec $engine run --rm --network=none", "--env=JOB_COMPLETION_INDEX=$1", *mounts,
                            shlex.join(options + entry), "$image", shlex.join(words)]) + "\n")
PYTHON
if /usr/bin/python3 -c 'import yaml' 2>/dev/null; then
    /usr/bin/python3 "$place/pods.py" "$SOURCE_DIR/ci/examples/kubernetes" "$place"
    export engine image results=$place/shards work
    mkdir "$results"
    for index in 0 1; do
        work=$place/work-$index
        mkdir "$work"
        chown 1000:1000 "$results" "$work"
        expect_exit 0 bash "$place/shards.sh" "$index"
    done
    # A draw may be inconclusive on a busy machine.
    code=0
    bash "$place/merge.sh" 0 >"$place/out" 2>"$place/err" || code=$?
    [[ $code = [02] ]] && [ ! -s "$place/err" ] || fail "exit code $code: $(cat "$place/out" "$place/err")"
    grep -q '^  tried  *2 draws' "$place/out" || fail "$(cat "$place/out")"
    rm -r "$results/shard-2-of-2"
    expect_exit 2 bash "$place/merge.sh" 0
    grep -q 'shard 2 of 2 is missing' "$place/err" || fail "$(cat "$place/err")"
else
    echo "without the pods of the shards: python3-yaml is not installed"
fi

"$engine" run --rm --network=none --entrypoint mailroom-collector "$image" --version >"$place/out"
grep -q '^mailroom-collector ' "$place/out" || fail "no collector in it"
"$engine" run --rm --network=none --entrypoint cat "$image" /usr/share/doc/mailproof/README.md >"$place/out"
cmp "$place/out" "$SOURCE_DIR/README.md" || fail "not these documents"
