#!/usr/bin/env bash
# Kills a collector that shares the queue at each of its statements; nothing may break. With
# MAILPROOF_MUTANT=sql:NAME the functions of the queue have a defect, and the same kills must show it:
# ci/mutants tries them all. --list prints their names.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"

# Each is a substitution in the migration that makes the functions.
declare -A defects=(
    # A line is taken, but its row names no tokens.
    [take]='s/SELECT q, me, f.ids\[b + 1 : least(b + wanted, f.taken)\]/SELECT q, me, ARRAY[]::bigint[]/'
    # A line that was written stays.
    [settle]='s/DELETE FROM here.deliveries AS x$/UPDATE here.deliveries AS x SET alone = x.alone/'
    # What the dead had in hand stays theirs.
    [adopt]="s/AS d SET owner = 0, due = '-infinity', paid_at = NULL,/AS d SET owner = d.owner,/"
)

# Makes a copy of the programs that applies a defective migration.
plant() { # defect
    local file=000021_protocol.up.sql name tree=$place/tree
    mkdir -p "$tree/bin" "$tree/share/mailproof/migrations"
    cp "$BUILD_DIR/bin/mailproof" "$BUILD_DIR/bin/mailroom-collector" "$tree/bin"
    for name in "$SOURCE_DIR"/*; do
        [ "${name##*/}" = migrations ] || ln -s "$name" "$tree/share/mailproof"
    done
    cp "$SOURCE_DIR"/migrations/*.sql "$tree/share/mailproof/migrations"
    sed -i "${defects[$1]}" "$tree/share/mailproof/migrations/$file"
    ! cmp -s "$SOURCE_DIR/migrations/$file" "$tree/share/mailproof/migrations/$file" ||
        fail "the substitution of $1 changes nothing in $file"
    mailproof=$tree/bin/mailproof
}

if [ "${1-}" = --list ]; then
    printf 'sql:%s\n' "${!defects[@]}" | sort
    exit
fi
case ${MAILPROOF_MUTANT-} in
sql:*) plant "${MAILPROOF_MUTANT#sql:}" ;;
esac
# The slack keeps a busy machine from looking like a defect.
expect_exit 0 "$mailproof" run every-cut --every-kill --cut-at 'client Execute' \
    --set collector.dequeue=shared --set slack=3s
echo "nothing breaks, wherever a collector that shares the queue is killed"
