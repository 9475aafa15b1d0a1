#include "postgres/engine.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "os/paths.h"
#include "os/process.h"

static const int64_t log_limit_ns = 10 * NS_PER_S;

// Runs the engine without a death signal: when we die, the engine goes on, because an engine that
// is killed half-way may leave things that we do not know of. The next run removes what the engine
// has made.
static bool engine_run(const char *const *argv, char *text, size_t size, struct err *e)
{
    struct process_spec spec = PROCESS_SPEC_INIT;

    spec.argv = argv;
    return process_collect(&spec, text, size, e);
}

bool engine_run_with_variable(
    const char *variable, const char *const *argv, char *text, size_t size, struct err *e)
{
    struct process_spec spec = PROCESS_SPEC_INIT;
    size_t count = 0;

    while (environ[count])
        count++;
    const char **env = memory_zeroed(count + 2, sizeof *env);
    // The variable goes into the environment and not on the command line, which every user of the
    // machine can read.
    env[0] = variable;
    for (size_t i = 0; i < count; i++)
        env[i + 1] = environ[i];
    spec.argv = argv;
    spec.env = env;
    bool ok = process_collect(&spec, text, size, e);
    free(env);
    return ok;
}

bool engine_call(
    const char *engine, char *text, size_t size, struct err *e, const char *const *arguments)
{
    const char *argv[ENGINE_ARGUMENTS_MAX + 2] = {engine};

    for (size_t i = 0; arguments[i]; i++) {
        if (i == ENGINE_ARGUMENTS_MAX)
            return err_set(e, ERR_INTERNAL, "%s %s: more than %d arguments", engine, arguments[0],
                ENGINE_ARGUMENTS_MAX);
        argv[i + 1] = arguments[i];
    }
    return engine_run(argv, text, size, e);
}

const char *engine_find(struct err *e)
{
    const char *told = getenv("MAILPROOF_CONTAINER_ENGINE");
    const bool chosen = told && *told;
    const char *const engines[] = {chosen ? told : "podman", "docker"};
    char text[512];
    struct err ignored;

    // An engine counts only when it answers: docker may be installed without its daemon.
    for (size_t i = 0; i < (chosen ? 1 : 2); i++) {
        if (ENGINE(engines[i], text, &ignored, "info"))
            return engines[i];
    }
    if (chosen)
        err_set(e, ERR_SKIP, "MAILPROOF_CONTAINER_ENGINE: %s does not answer here", told);
    else
        err_set(e, ERR_SKIP,
            "neither podman nor docker answers here; install one, or name one in "
            "MAILPROOF_CONTAINER_ENGINE");
    return NULL;
}

bool engine_label(char label[ENGINE_LABEL_MAX], struct err *e)
{
    struct buf boot FREED_BY(buf_fini) = BUF_INIT(64);
    struct stat st;
    struct err unread;

    // Pids mean something only within one boot and one pid namespace.
    if (!path_read("/proc/sys/kernel/random/boot_id", &boot, ERR_SYSTEM, &unread) ||
        stat("/proc/self/ns/pid", &st) != 0)
        return err_sys(e, ERR_SYSTEM, "cannot tell this boot and pid namespace from others");
    snprintf(label, ENGINE_LABEL_MAX, "mailproof=%.*s.%ju", (int)strcspn(boot.data, "\n"),
        boot.data, (uintmax_t)st.st_ino);
    return true;
}

void engine_name(char name[ENGINE_NAME_MAX], const char *unique)
{
    snprintf(name, ENGINE_NAME_MAX, "mailproof-%d-%" PRIu64 "-%.8s", (int)getpid(),
        process_started(getpid()), unique);
}

// Removes the containers or volumes that killed runs left. `names` has one a line; `removal` is the
// engine's command that removes one. Spares those whose process still runs.
static void remove_leftovers(const char *engine, char *names, const char *const *removal)
{
    char text[512], *line;
    struct err ignored;

    while ((line = strsep(&names, "\n")) != NULL) {
        const char *argv[8] = {engine};
        size_t n = 1;
        uint64_t started;
        int pid;
        // The name holds the pid and the start of the process that made it (engine_name).
        if (sscanf(line, "mailproof-%d-%" SCNu64 "-", &pid, &started) != 2 ||
            process_is(pid, started))
            continue;
        for (; removal[n - 1]; n++)
            argv[n] = removal[n - 1];
        argv[n] = line;
        if (!engine_run(argv, text, sizeof text, &ignored)) {
            // A failure does not matter, because the next run tries again.
        }
    }
}

// Volumes are not removed by force, because a volume that a container still uses is not left over.
void engine_sweep(const char *engine, const char *label)
{
    static const char *const container[] = {"rm", "-f", "-v", NULL};
    static const char *const volume[] = {"volume", "rm", NULL};
    char filter[ENGINE_LABEL_MAX + 8], names[8192];
    struct err ignored;

    snprintf(filter, sizeof filter, "label=%s", label);
    if (ENGINE(engine, names, &ignored, "ps", "-a", "--filter", filter, "--format", "{{.Names}}"))
        remove_leftovers(engine, names, container);
    if (ENGINE(
            engine, names, &ignored, "volume", "ls", "--filter", filter, "--format", "{{.Name}}"))
        remove_leftovers(engine, names, volume);
}

bool engine_log(const char *engine, const char *name, const char *path)
{
    const char *argv[] = {engine, "logs", name, NULL};
    struct process_spec spec = PROCESS_SPEC_INIT;
    struct err ignored;
    int status = 0;

    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0)
        return false;
    spec.argv = argv;
    spec.out = spec.err = fd;
    spec.death_signal = SIGKILL; // unlike engine_run, because reading a log leaves nothing behind
    pid_t pid = process_start(&spec, &ignored);
    close(fd);
    if (pid < 0)
        return false;
    // An engine that hangs must not keep the run from ending, so the run then has no log.
    if (!process_wait(pid, clock_now_ns() + log_limit_ns, &status)) {
        process_end(pid, SIGKILL, 0);
        return false;
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void engine_remove(const char *engine, const char *name)
{
    char text[512];
    struct err ignored;

    if (!ENGINE(engine, text, &ignored, "rm", "-f", "-v", name)) {
        // The container may be missing.
    }
    if (!ENGINE(engine, text, &ignored, "volume", "rm", "-f", name)) {
        // So may the volume.
    }
}
