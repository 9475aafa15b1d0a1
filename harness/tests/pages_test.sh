#!/usr/bin/env bash
# pages_test.sh PAGE…: runs each command that a page shows, and checks that it prints what
# the page shows, except for numbers. A page shows a command behind "$ " and its output
# below; "..." stands for lines that are left out, "…" for the rest of a line.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$place"

# Makes the folder build/ in which the pages' commands find our programs. Runs get a slack of
# 3 s, because on a busy machine a good collector may be late.
mkdir -p build/bin
ln -s "$BUILD_DIR/tests" build/tests
ln -s "$BUILD_DIR/bin/mailroom-collector" build/bin/
cat >build/bin/mailproof <<SHIM
#!/usr/bin/env bash
set -euo pipefail
command=\$1
shift
case \$command in
    run) set -- "\$@" --set slack=30s --set drain=30s ${leak[*]@Q} ;;
esac
exec "$mailproof" "\$command" "\$@"
SHIM
chmod +x build/bin/mailproof
export PATH=$place/build/bin:$PATH

cat >check.py <<'PYTHON'
import os, re, subprocess, sys

page, source = sys.argv[1:]
text = open(page).read()

def shown():
    """Each command with the lines below it."""
    for block in re.findall(r"^```\n(\$ .*?)^```$", text, re.S | re.M):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            lines = part.rstrip("\n").split("\n")
            command = lines.pop(0)
            while command.endswith("\\"):
                command = command[:-1] + lines.pop(0)
            yield command, lines

def plain(line):
    """Without figures, and without the blanks that depend on them."""
    line = re.sub(r"\d{8}T\d{6}Z-\d+|[\d][\d.,e+]*", "0", line)
    return re.sub(r"\s+", " ", line).strip()

def pattern(line):
    return re.compile(".*".join(re.escape(part) for part in plain(line).split("…")) + "$")

def check(command, want, got):
    at, anywhere = 0, False
    for line in want:
        if line.strip() == "...":
            anywhere = True
            continue
        while at < len(got) and not pattern(line).match(plain(got[at])) and anywhere:
            at += 1
        if at == len(got) or not pattern(line).match(plain(got[at])):
            return f"$ {command}\nthe page shows: {line}\nit prints:      {got[at] if at < len(got) else '(nothing more)'}"
        at, anywhere = at + 1, False
    return None

def run(command):
    # Runs the demonstration, but without installing and building first.
    if command.split()[0] == "ci/demo":
        command = re.search(r"^exec (.*)$", open(source + "/ci/demo").read(), re.M).group(1)
    # ci/test runs this test, so it cannot run here. Its output ends with that of ctest,
    # so a short ctest takes its place.
    if command.split()[0] == "ci/test":
        command = f"ctest --test-dir {os.environ['BUILD_DIR']} -R '^harness.points$'"
    done = subprocess.run(["bash", "-c", command], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=400)
    return done.stdout + done.stderr

busy = re.compile(r"the generator (fell|sent|could)|stood still")
count = 0
for command, want in shown():
    output = run(command)
    # The machine was too busy for a verdict, which proves nothing either way.
    for _ in range(4):
        if not busy.search(output):
            break
        output = run(command)
    wrong = check(command, want, output.split("\n"))
    if wrong:
        sys.exit(wrong + "\n\n" + output)
    count += 1
if count == 0:
    sys.exit("it shows no command")
print(f"{page}: {count} commands")
PYTHON
check() {
    /usr/bin/python3 check.py "$1" "$SOURCE_DIR"
}

# The check rejects pages that are not true.
for claim in '12 tokens found' '13 tokens lost, all' 'lost 13 tokens'; do
    # shellcheck disable=SC2016 # a page, not a command
    printf '```\n$ echo 12 tokens lost\n%s\n```\n' "$claim" >page.md
    ! check page.md 2>/dev/null || fail "it believes a page: $claim"
done
# shellcheck disable=SC2016
printf '```\n$ echo 12 tokens lost\n13 tokens …\n```\n' >page.md
check page.md >/dev/null || fail "figures are not left apart"

for page in "$@"; do
    check "$SOURCE_DIR/$page" || fail "$page is not true"
done
expect_nothing_left
