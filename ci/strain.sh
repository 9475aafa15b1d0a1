# Puts load on the machine, and measures how much it had. Sourced by ci/trust, which keeps the
# processes that strain the machine in the array `strain`.
# shellcheck shell=bash

relax() {
    local pid
    for pid in "${strain[@]}"; do
        kill "$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
    done
    strain=()
}

spin() { while :; do :; done; }

# Prints the state and the pid of a process and of all its descendants.
family() { # pid
    ps -eo pid=,ppid=,stat= | awk -v root="$1" '
        {parent[$1] = $2; state[$1] = substr($3, 1, 1)}
        END {for (pid in parent) {
            for (p = pid; p in parent && p != root; p = parent[p]) {}
            if (p == root && p in parent) print state[pid], pid
        }}'
}

# Freezes all processes of a run for 20 to 300 ms, every half to three seconds, as a hypervisor does
# to a guest. Processes that the plan has stopped stay stopped.
stop_in_bursts() { # pid
    local pids
    while sleep "$((RANDOM % 3)).$((RANDOM % 5 + 5))"; do
        mapfile -t pids < <(family "$1" | sed -n 's/^[^T] //p')
        kill -STOP "${pids[@]}" 2>/dev/null || true
        sleep "0.$(printf '%03d' $((RANDOM % 280 + 20)))"
        kill -CONT "${pids[@]}" 2>/dev/null || true
    done
}

# Prints for how many microseconds since the boot some process has waited for a processor.
waited_us() {
    sed -n 's/^some.*total=//p' /proc/pressure/cpu 2>/dev/null || true
}

now_us() { echo "${EPOCHREALTIME/[.,]/}"; }
