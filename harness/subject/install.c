#include "subject/install.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "os/interrupt.h"
#include "os/paths.h"
#include "os/process.h"

#define ARGS_MAX 40
#define LOOK_NS (INT64_C(100) * NS_PER_MS)
#define GRACE_NS (INT64_C(2) * NS_PER_S)

// Finds the part of a path that lies below a folder; NULL when it lies elsewhere.
static const char *below(const char *path, const char *folder)
{
    size_t len = strlen(folder);

    return strncmp(path, folder, len) == 0 && path[len] == '/' ? path + len + 1 : NULL;
}

// Waits for the script. A download may take minutes, so Ctrl-C ends it.
static bool wait_for_installer(pid_t pid, int *status, struct err *e)
{
    while (!process_wait(pid, clock_now_ns() + LOOK_NS, status)) {
        if (!interrupt_signal())
            continue;
        process_signal_group(pid, SIGTERM);
        process_end(pid, SIGTERM, GRACE_NS);
        return err_set(e, ERR_INTERRUPTED, "interrupted");
    }
    return true;
}

// Runs the script. Its progress goes to our standard error; its output is the reason of a refusal.
static bool run_script(const char *const *argv, char *reason, size_t size, struct err *e)
{
    struct process_spec spec = PROCESS_SPEC_INIT;
    FILE *out = tmpfile();
    int status = 0;

    if (!out)
        return err_sys(e, ERR_SYSTEM, "cannot make a temporary file");
    spec.argv = argv;
    spec.dir = "/";
    spec.out = fileno(out);
    spec.err = STDERR_FILENO;
    spec.death_signal = SIGTERM;
    pid_t pid = process_start(&spec, e);
    bool ok = pid > 0 && wait_for_installer(pid, &status, e);
    rewind(out);
    if (ok && !fgets(reason, (int)size, out))
        snprintf(reason, size, "%s failed", argv[0]);
    fclose(out);
    reason[strcspn(reason, "\n")] = '\0';
    if (ok && (!WIFEXITED(status) || WEXITSTATUS(status) != 0))
        return err_set(e, ERR_SKIP, "%s", reason);
    return ok;
}

// Installs what the manifest names into the copy `to` of the folder `all`.
static bool install(const struct manifest *m, const char *all, const char *to, struct err *e)
{
    char script[PATH_MAX], npm[PATH_MAX], real[PATH_MAX], reason[400] = "";
    const char *argv[ARGS_MAX] = {script, to, MANIFEST_NONE};
    size_t count = 3;
    struct err why;

    if (!path_join(script, all, "install", e))
        return false;
    if (strcmp(m->npm, MANIFEST_NONE) != 0) {
        if (!path_join(npm, m->dir, m->npm, e))
            return false;
        argv[2] = realpath(npm, real) ? below(real, all) : NULL;
        if (!argv[2])
            return err_set(e, ERR_USAGE, "%s: npm: '%s' is no folder beside it", m->name, m->npm);
    }
    for (char **package = m->debian; *package && count + 1 < ARGS_MAX; package++)
        argv[count++] = *package;
    if (run_script(argv, reason, sizeof reason, &why))
        return true;
    return err_set(e, why.kind, "%s cannot be installed: %s", m->name, why.text);
}

bool install_subject(struct manifest *m, struct err *e)
{
    char all[PATH_MAX], cache[PATH_MAX], to[PATH_MAX], path[PATH_MAX];
    struct manifest copy;

    if (manifest_installed(m, e))
        return true;
    if (strcmp(m->absent, MANIFEST_NONE) != 0 || !manifest_folder(all, e))
        return false;
    const char *name = below(m->dir, all);
    // A user's own subject is the user's to install.
    if (!name)
        return false;
    if (!path_cache(cache))
        return err_set(e, ERR_SKIP,
            "%s cannot be installed: there is no folder for it; set XDG_CACHE_HOME or HOME",
            m->name);
    if (!path_join(to, cache, "subjects", e) || !path_join(path, to, name, e) ||
        !install(m, all, to, e))
        return false;
    if (!manifest_load(&copy, path, e) || !manifest_installed(&copy, e)) {
        manifest_fini(&copy);
        return false;
    }
    manifest_fini(m);
    *m = copy;
    return true;
}
