#!/usr/bin/env bash
# A subject whose own client puts its jobs, and whose handlers end as the harness answers.
# It passes when every job that was put is done in the end, even a job whose handler
# failed. A subject that marks a job as done although its handler failed is convicted, and
# so is a client that says put-ok too early.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"

main() {
    /usr/bin/python3 -c 'import psycopg2' 2>/dev/null || { echo "skipped: python3-psycopg2 is not installed" && exit 77; }
    make_subject asks
    passes
    convicts marks 's/if answer != "ok":/if False:/' consumer.py
    convicts boasts 's/^    db.commit()$/    db.rollback()/' producer.py
    needs_a_producer
    expect_nothing_left
}

asked=(--set 'collector.sender={error: 30%}' --set load.0.for=2s --set load.0.rate=50/s --set drain=20s)

make_subject() { # name
    mkdir "$place/$1"
    cat >"$place/$1/subject.yaml" <<EOF
name: $1
summary: A table, a client that puts, a consumer that asks how its handler should end.
version: "1"
schema: [psql, -qX, -c, "CREATE TABLE jobs (id int PRIMARY KEY, processed_at timestamptz)"]
enqueue: client
producer: [/usr/bin/python3, producer.py]
consumer: [/usr/bin/python3, consumer.py]
answers: true
promises: [no_loss, reconnect]
end_state: SELECT count(*) FROM jobs WHERE processed_at IS NULL
EOF
    cat >"$place/$1/producer.py" <<'EOF'
import os, sys
import psycopg2

db = psycopg2.connect("")
sql = db.cursor()
for line in sys.stdin:
    number = int(line.split()[1])
    sql.execute("INSERT INTO jobs (id) VALUES (%s)", (number,))
    db.commit()
    os.write(1, f"put-ok {number}\n".encode())
EOF
    cat >"$place/$1/consumer.py" <<'EOF'
import os, sys, time
import psycopg2

db = psycopg2.connect("")
sql = db.cursor()
while True:
    sql.execute("SELECT id FROM jobs WHERE processed_at IS NULL ORDER BY random() FOR UPDATE SKIP LOCKED LIMIT 1")
    row = sql.fetchone()
    if not row:
        db.commit()
        time.sleep(0.02)
        continue
    os.write(1, f"got {row[0]} 1\n".encode())
    answer, number = sys.stdin.readline().split()
    assert int(number) == row[0]
    if answer != "ok":
        db.rollback()
        continue
    sql.execute("UPDATE jobs SET processed_at = now() WHERE id = %s", row)
    db.commit()
    os.write(1, f"done {row[0]}\n".encode())
EOF
}

passes() {
    expect_exit 0 run steady --subject "$place/asks" "${asked[@]}"
    grep -q 'lost 0 ' "$place/out" || { cat "$place/out" && fail "asks loses"; }
    grep -q 'put by its own client' "$place/out" || { cat "$place/out" && fail "the weaker way to put is not said"; }
    # Three of ten handlers failed and came again.
    local came
    came=$(number batches "$place/results/steady/latest/result.json")
    [ "$came" -gt 110 ] || { cat "$place/out" && fail "only $came handlers ran: none was told to fail"; }
}

convicts() { # name, change, file
    make_subject "$1"
    sed -i "$2" "$place/$1/$3"
    expect_exit 1 run steady --subject "$place/$1" "${asked[@]}" --set drain=3s
    grep -q 'lost [1-9][0-9]* BROKEN' "$place/out" || { cat "$place/out" && fail "$1: no loss is seen"; }
}

needs_a_producer() {
    make_subject alone
    sed -i '/^producer/d' "$place/alone/subject.yaml"
    expect_exit 64 "$mailproof" run steady --subject "$place/alone"
    grep -q 'enqueue: client needs producer' "$place/err" || fail "$(cat "$place/err")"
}

main "$@"
