# Sourced: what the zoo says of itself, because to the harness it is a collector like any other. Its
# place is in the reference's tables, and it promises as much as the reference.
# shellcheck shell=bash

# shellcheck disable=SC2034 # used by those that source this
promised=no_loss,once,limit,timeout,order,reconnect,backpressure,stop,small,standby,sharing,outcome
promised+=,budget,lanes,dead_letters,fills,releases,lease,retries

# zoo_says [SCENARIO]: sets the array `says`. What the scenario's file itself says goes before.
zoo_says() {
    says=()
    [ -n "${1-}" ] && grep -q 'layout:' "$1" || says+=(--set collector.layout=reference)
    [ -n "${1-}" ] && grep -q 'promises:' "$1" || says+=(--promises "$promised")
}
zoo_says
