#!/usr/bin/env bash
# The manifests that kubectl makes from ci/examples/kubernetes fit the schemas of Kubernetes,
# mailproof takes the arguments of the Job and the CronJob, and the page names all that they need.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$place"

readers=$SOURCE_DIR/build/readers/node_modules
examples=$SOURCE_DIR/ci/examples/kubernetes
for needed in kubectl node; do
    command -v $needed >/dev/null || {
        echo "skipped: $needed is not installed"
        exit 77
    }
done
/usr/bin/python3 -c 'import yaml' 2>/dev/null || {
    echo "skipped: python3-yaml is not installed"
    exit 77
}
[ -d "$readers/kubernetes-models" ] && [ -d "$readers/@kubernetes/client-node" ] || {
    echo "skipped: the schemas of Kubernetes are not installed; ci/install-readers does that"
    exit 77
}

for folder in results job cronjob cloudnative-pg shards merge; do
    kubectl kustomize "$examples/$folder" >$folder.yaml 2>err || fail "$folder: $(cat err)"
    /usr/bin/python3 -c 'import json, sys, yaml; print(json.dumps(list(yaml.safe_load_all(sys.stdin))))' \
        <$folder.yaml >$folder.json
done

# The schemas check types and required keys. Unknown keys are dropped by the client's
# classes, so a document that these change has an unknown key.
cat >fits.js <<'NODE'
const assert = require('assert');
const fs = require('fs');
const [readers, ...files] = process.argv.slice(2);
const models = require(readers + '/@kubernetes/client-node/dist/gen/model/models.js').ObjectSerializer;

for (const file of files)
    for (const document of JSON.parse(fs.readFileSync(file))) {
        const {apiVersion, kind} = document;
        const schema = require(`${readers}/kubernetes-models/${apiVersion}/${kind}.js`)[kind];
        new schema(document).validate();
        const type = `V1${kind}`;
        const known = models.serialize(models.deserialize(document, type), type);
        assert.deepStrictEqual(JSON.parse(JSON.stringify(known)), document);
        console.log(`${file}: ${kind}`);
    }
NODE
fits() {
    node fits.js "$readers" "$@"
}
[ "$(fits results.json job.json cronjob.json shards.json merge.json | wc -l)" = 7 ] ||
    fail "not seven documents"
for damage in 's/"backoffLimit"/"backofLimit"/' 's/"backoffLimit": 0/"backoffLimit": "0"/' \
    's/"restartPolicy": "Never"/"restartPolicy": true/' 's/"containers"/"container"/'; do
    sed "$damage" job.json >damaged.json
    ! cmp -s job.json damaged.json || fail "$damage finds nothing"
    ! fits damaged.json >/dev/null 2>&1 || fail "$damage is not noticed"
done
sed 's/"completionMode"/"completionsMode"/' shards.json >damaged.json
! fits damaged.json >/dev/null 2>&1 || fail "a wrong key of an Indexed Job is not noticed"

# Both have the same pod. mailproof must accept its arguments, and then fail because there
# is no server.
cat >parts.py <<'PYTHON'
import json, sys

page = open(sys.argv[1] + "/README.md").read()
[job], [cronjob], [claim, policy], [cluster] = (
    json.load(open(name + ".json")) for name in ("job", "cronjob", "results", "cloudnative-pg"))
if claim["kind"] == "NetworkPolicy":
    claim, policy = policy, claim
pod = job["spec"]["template"]["spec"]
assert pod == cronjob["spec"]["jobTemplate"]["spec"]["template"]["spec"]
[container] = pod["containers"]
assert container["image"] == "registry.example.com/mailproof:latest"
[secret] = [e["valueFrom"]["secretKeyRef"] for e in container["env"] if e["name"] == "CONNINFO"]
assert f"generic {secret['name']} \\\n    --from-literal={secret['key']}=" in page
claims = {v["name"]: v["persistentVolumeClaim"]["claimName"] for v in pod["volumes"] if "persistentVolumeClaim" in v}
assert claims == {"results": claim["metadata"]["name"]}
assert f'"claimName": "{claims["results"]}"' in page
assert {m["name"] for m in container["volumeMounts"]} == {v["name"] for v in pod["volumes"]}
assert len({d["metadata"]["namespace"] for d in (job, cronjob, claim, policy, cluster)}) == 1
[role] = cluster["spec"]["managed"]["roles"]
assert f"generic {role['passwordSecret']['name']} --type=kubernetes.io/basic-auth" in page
assert f"host={cluster['metadata']['name']}-rw user={role['name']} " in page
for argument in container["args"]:
    print(argument.replace("/results", "./results").replace("=0.0.0.0:9188", "=127.0.0.1:0").replace("=quick", "=ha"))
PYTHON
/usr/bin/python3 parts.py "$examples" >arguments
mkdir results
mapfile -t arguments <arguments
code=0
CONNINFO='host=/no/such/folder connect_timeout=1 user=x' "$mailproof" "${arguments[@]}" >out 2>err || code=$?
[ "$code" != 64 ] && [ -s results/junit.xml ] || fail "mailproof takes not all of: $(cat arguments err)"

# The pods of the shards: as many as the Job says, and the command of each, as the kubelet would
# start it, with other draws and folders. A shell stands in for the container.
cat >shards.py <<'PYTHON'
import json, shlex, sys

claim, job = json.load(open("shards.json"))
[merge] = json.load(open("merge.json"))
if claim["kind"] == "Job":
    claim, job = job, claim
spec = job["spec"]
[container] = spec["template"]["spec"]["containers"]
[merger] = merge["spec"]["template"]["spec"]["containers"]
shards = {e["name"]: e.get("value") for e in container["env"]}["SHARDS"]
assert spec["completionMode"] == "Indexed" and str(spec["completions"]) == shards == str(spec["parallelism"])
for pod in (spec["template"]["spec"], merge["spec"]["template"]["spec"]):
    [volume] = [v["persistentVolumeClaim"]["claimName"] for v in pod["volumes"] if v["name"] == "results"]
    assert volume == claim["metadata"]["name"]
    assert all(pod["containers"][0]["securityContext"][k] == v for k, v in
               {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True}.items())

def here(words):
    return shlex.join(w.replace("/results", "./results").replace("--draws=400", "--draws=2")
                      .replace("--jobs=2", "--jobs=1") for w in words)

with open("shard.sh", "w") as out:
    out.write(here(container["command"] + container["args"] + ["--only=cancel-query,cursor"]))
with open("merge.sh", "w") as out:
    out.write("mailproof " + here(merger["args"]))
PYTHON
/usr/bin/python3 shards.py
PATH=$(dirname "$mailproof"):$PATH
for index in 0 1; do
    JOB_COMPLETION_INDEX=$index SHARDS=2 bash shard.sh >out 2>err ||
        fail "shard $index: $(cat out err)"
done
expect_exit 0 bash merge.sh
grep -q '^  tried  *2 draws' "$place/out" || fail "$(cat "$place/out")"
rm -r results/shard-1-of-2
expect_exit 2 bash merge.sh
grep -q 'shard 1 of 2 is missing' "$place/err" || fail "$(cat "$place/err")"
echo "Kubernetes would take them"
