# Sourced after lib.sh by the tests that put a server into a container: an engine, and an image
# that is made here without any registry.
# shellcheck shell=bash

engine=
trap 'remove_engine; rm -rf "$place"' EXIT
image=localhost/mailproof-test-$$
# shellcheck disable=SC2034 # used by those that source this
in_container=(--postgres container --set "postgres.image=$image")

# Gives podman a storage of its own on a real disk, so that everything that it makes can
# be counted, and limits that do not exceed this machine's.
own_podman() { # storage driver
    local files processes
    files=$(ulimit -Hn)
    processes=$(ulimit -Hu)
    [ "$files" != unlimited ] && [ "$files" -lt 1048576 ] || files=1048576
    # podman sets this limit for itself and cannot raise it again.
    [ "$processes" != unlimited ] && [ "$processes" -lt 32768 ] || processes=32768
    cat >"$place/containers.conf" <<CONF
[containers]
default_ulimits = ["nofile=$files:$files", "nproc=$processes:$processes"]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
CONF
    # crun refuses the mixed hierarchy of control groups that some machines have.
    ! command -v runc >/dev/null || echo 'runtime = "runc"' >>"$place/containers.conf"
    printf '[storage]\ndriver = "%s"\ngraphroot = "%s"\nrunroot = "%s"\n' \
        "$1" "$place/storage" "$place/run" >"$place/storage.conf"
    export CONTAINERS_CONF=$place/containers.conf CONTAINERS_STORAGE_CONF=$place/storage.conf
}

# Sets the engine: docker where the caller says that it answers, otherwise podman. Returns 1,
# and says why, when there is none.
find_engine() {
    local driver
    why='neither podman nor docker is installed'
    if [ -n "${docker-}" ]; then
        engine=docker
        return
    fi
    ! command -v docker >/dev/null || why='no docker engine answers, and podman is not installed'
    command -v podman >/dev/null || return 1
    why='podman needs root here, to look at the flushes of its volumes'
    [ "$(id -u)" -eq 0 ] || return 1
    for driver in overlay vfs; do
        own_podman "$driver"
        if podman info >"$place/info" 2>&1; then
            engine=podman
            return
        fi
    done
    why="podman does not work here: $(tail -n 1 "$place/info")"
    return 1
}

# Builds the image. Returns 1, and says why, when the engine cannot run it here.
make_image() {
    local code=0
    export MAILPROOF_CONTAINER_ENGINE=$engine
    ENGINE=$engine "$SOURCE_DIR/ci/postgres-image" "$image" || fail "no image was built"
    "$engine" run --rm -p 127.0.0.1::5432 "$image" bash -c : >"$place/probe" 2>&1 || code=$?
    case $code in
    0) ;;
    125 | 126) # podman's own failure
        why="$engine cannot run a container here: $(tail -n 1 "$place/probe")"
        return 1
        ;;
    *) fail "the image does not run: $(cat "$place/probe")" ;;
    esac
}

remove_engine() {
    local mount
    [ -z "$engine" ] || "$engine" rmi -f "$image" >/dev/null 2>&1 || true
    [ "$engine" != podman ] || podman rm -fa >/dev/null 2>&1 || true
    # podman keeps its storage mounted on itself.
    for mount in $(awk -v at="$place/" 'index($2, at) == 1 {print $2}' /proc/mounts | sort -r); do
        umount "$mount" || true
    done
}
