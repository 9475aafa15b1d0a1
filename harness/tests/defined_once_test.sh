#!/usr/bin/env bash
# Names of the product's functions and files: each is defined once, so that grep finds one place. And
# the way of a token in harness/README.md names functions that are where it says.
set -euo pipefail
cd "$(dirname "$0")/../.."

git rev-parse --is-inside-work-tree >/dev/null 2>&1 || { echo "no git here: skipped"; exit 77; }

git ls-files -z '*.c' | /usr/bin/python3 -c '
import collections, os, re, sys

# The folders whose file names are their own.
done = ["harness/" + d + "/" for d in (
    "scenario plan os shards measure disk postgres subject load fault ledger check report options run "
    "compare tune shrink explore doctor proxy field cli story").split()]

def is_product(path):
    return not re.search(r"_test\.c$|_bench\.c$|/tests/|^harness/(fuzz|zoo)/", path)

# A definition begins in the first column and its body does, too. What the preprocessor leaves out
# elsewhere, such as the two halves of a sandbox, counts once a file.
definition = re.compile(r"^(?:[A-Za-z_][\w ]*[ *])(\w+)\((?:[^;{}()]|\([^;{}()]*\))*\)\n\{", re.M)
functions, files = collections.defaultdict(set), collections.defaultdict(set)
paths = [p for p in sys.stdin.read().split("\0") if p and os.path.exists(p) and is_product(p)]
for path in paths:
    files[os.path.basename(path)].add(path)
    for name in definition.findall(open(path, encoding="utf-8").read()):
        functions[name].add(path)
assert len(paths) > 300 and len(functions) > 3000, (len(paths), len(functions))

def is_done(path):
    return any(path.startswith(d) for d in done)

wrong = ["%s is defined in %s" % (name, " and ".join(sorted(where)))
         for name, where in sorted(functions.items())
         if name != "main" and len(where) > 1]
wrong += ["%s: two files of one name" % " and ".join(sorted(where))
          for where in files.values() if sum(map(is_done, where)) > 1]

# Links such as [`load_run`](load/load.c).
text = open("harness/README.md", encoding="utf-8").read()
named = re.findall(r"\[`(\w+)`\]\(([\w./-]+\.(?:c|sql))\)", text)
assert len(named) > 20, len(named)
for name, link in named:
    path = os.path.normpath(os.path.join("harness", link))
    found = os.path.exists(path) and (
        path in functions[name] if path.endswith(".c")
        else re.search(r"\b%s\b" % name, open(path, encoding="utf-8").read()))
    if not found:
        wrong.append("harness/README.md: there is no %s in %s" % (name, path))
print("\n".join(wrong))
sys.exit(bool(wrong))
'
