#include "field/reproduction.h"

#include <glob.h>
#include <math.h>
#include <signal.h>
#include <sys/wait.h>

#include "options/subjects.h"
#include "os/interrupt.h"
#include "os/paths.h"
#include "os/process.h"
#include "report/files/parse_json.h"
#include "subject/manifest.h"

#define EXIT_NOT_SEEN 0
#define EXIT_SEEN 1
#define EXIT_INCONCLUSIVE 2
#define SEEDS_DEFAULT 10

// --- installing a subject ------------------------------------------------------------

// A subject that comes with mailproof is installed, with pinned versions, into a copy of subjects/
// in the user's cache. Only Debian's packages change the system; the script installs them only for
// root, and names them first.

#define ARGS_MAX 40                        // most words of the script's command
#define POLL_NS (INT64_C(100) * NS_PER_MS) // how often a signal is looked for
#define GRACE_NS (INT64_C(2) * NS_PER_S)   // time that the script has to end after TERM

// Returns the part of a path after this folder; NULL: the path does not lie in it.
static const char *path_in_folder(const char *path, const char *folder)
{
    size_t len = strlen(folder);

    return strncmp(path, folder, len) == 0 && path[len] == '/' ? path + len + 1 : NULL;
}

// Waits until the script ends. A download may take minutes, so Ctrl-C ends the script; then false.
static bool wait_for_installer(pid_t pid, int *status, struct err *e)
{
    while (!process_wait(pid, clock_now_ns() + POLL_NS, status)) {
        if (!interrupt_signal())
            continue;
        // Signal the whole group, so that the programs that the script has started, such as npm,
        // end, too. Then wait for the script itself.
        process_signal_group(pid, SIGTERM);
        process_end(pid, SIGTERM, GRACE_NS);
        return err_set(e, ERR_INTERRUPTED, "interrupted");
    }
    return true;
}

// Runs the installer. Its progress goes to mailproof's standard error. If it fails, returns false
// with ERR_SKIP; the first line of its standard output is the reason.
static bool run_installer(const char *const *argv, struct err *e)
{
    char reason[400];
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
    if (!fgets(reason, sizeof reason, out))
        snprintf(reason, sizeof reason, "%s failed", argv[0]);
    fclose(out);
    reason[strcspn(reason, "\n")] = '\0';
    if (ok && (!WIFEXITED(status) || WEXITSTATUS(status) != 0))
        return err_set(e, ERR_SKIP, "%s", reason);
    return ok;
}

// Installs the packages that the manifest names into `to`, a copy of the folder of subjects `all`.
static bool install_manifest(
    const struct manifest *m, const char *all, const char *to, struct err *e)
{
    char script[PATH_MAX], npm[PATH_MAX], real[PATH_MAX];
    // The script's arguments: the copy, the npm folder relative to `all`, and Debian packages.
    const char *argv[ARGS_MAX] = {script, to, MANIFEST_NONE};
    size_t count = 3;
    struct err why;

    if (!path_join(script, all, "install", e))
        return false;
    if (strcmp(m->npm, MANIFEST_NONE) != 0) {
        if (!path_join(npm, m->dir, m->npm, e))
            return false;
        argv[2] = realpath(npm, real) ? path_in_folder(real, all) : NULL;
        if (!argv[2])
            return err_set(e, ERR_USAGE, "%s: npm: '%s' is no folder beside it", m->name, m->npm);
    }
    for (char **package = m->debian; *package && count + 1 < ARGS_MAX; package++)
        argv[count++] = *package;
    if (run_installer(argv, &why))
        return true;
    return err_set(e, why.kind, "%s cannot be installed: %s", m->name, why.text);
}

// Installs a subject unless it is installed already. *m then becomes the manifest of the installed
// copy. False with ERR_SKIP and the reason when the subject cannot be installed.
static bool install_subject(struct manifest *m, struct err *e)
{
    char all[PATH_MAX], cache[PATH_MAX], to[PATH_MAX], path[PATH_MAX];
    struct manifest copy;

    if (manifest_installed(m, e))
        return true;
    // From now on `e` says why it is not installed.
    if (strcmp(m->why_not_installable, MANIFEST_NONE) != 0 || !manifest_folder(all, e))
        return false;
    const char *name = path_in_folder(m->dir, all);
    // The subject does not lie in subjects/, so it is a user's own, and the user must install it.
    if (!name)
        return false;
    if (!path_cache(cache))
        return err_set(e, ERR_SKIP,
            "%s cannot be installed: there is no folder for it; set XDG_CACHE_HOME or HOME",
            m->name);
    if (!path_join(to, cache, "subjects", e) || !path_join(path, to, name, e) ||
        !install_manifest(m, all, to, e))
        return false;
    if (!manifest_load(&copy, path, e) || !manifest_installed(&copy, e)) {
        manifest_fini(&copy);
        return false;
    }
    manifest_fini(m);
    *m = copy;
    return true;
}

// The numbers of runs: all, those that showed the defect, and the inconclusive ones.
struct tries {
    int runs, seen, inconclusive;
};

// --- one run ----------------------------------------------------------------------------

static bool file_holds(const char *path, const char *words)
{
    FILE *file = fopen(path, "re");
    char *line FREED_BY(memory_free) = NULL;
    size_t size = 0;
    bool holds = false;

    if (!file)
        return false;
    while (!holds && getline(&line, &size, file) > 0)
        holds = strstr(line, words);
    fclose(file);
    return holds;
}

// True when a log of the consumer holds the finding's words, or when the finding has no words.
static bool logs_say(const struct field_finding *f, const char *folder)
{
    char pattern[PATH_MAX];
    glob_t logs = {0};
    bool say = false;

    if (strcmp(f->says, FINDING_NONE) == 0)
        return true;
    if (snprintf(pattern, sizeof pattern, "%s/logs/collector-*", folder) >= (int)sizeof pattern)
        return false;
    glob(pattern, 0, NULL, &logs);
    for (size_t i = 0; !say && i < logs.gl_pathc; i++)
        say = file_holds(logs.gl_pathv[i], f->says);
    globfree(&logs);
    return say;
}

// Returns the number of jobs whose handler ran, but which the queue still shows as not done. Jobs
// in `lost` are left out: their handler did not run, perhaps only because there was no time yet.
static double count_not_done(const struct run_outcome *outcome)
{
    return outcome->left - (outcome->lost > 0 ? outcome->lost : 0);
}

// The run's verdict alone is no answer, because the run may break another promise than the one of
// the finding. A metric that the run itself doubts is a doubt here, too, unless another metric
// shows the finding.
enum shown finding_shown(const struct field_finding *f, const struct run_outcome *outcome,
    const json_t *figures, char *text, size_t size)
{
    enum shown shown = SHOWN_NOTHING;

    if (outcome->verdict == VERDICT_INCONCLUSIVE)
        return SHOWN_DOUBT;
    for (char **name = f->breaks; *name && shown != SHOWN_FINDING; name++) {
        const struct metric *m = metric_find(*name);
        // A name that is no metric is FINDING_LEFT.
        double count = m ? parse_number(figures, *name) : count_not_done(outcome);
        if (!(count > 0) || !logs_say(f, outcome->folder))
            continue;
        snprintf(text, size, "seen, %s %.0f", *name, count);
        shown = m && outcome->doubted[m->id] ? SHOWN_DOUBT : SHOWN_FINDING;
    }
    return shown;
}

// Reads the run's result.json and sets *shown to whether the run shows the finding; text as in
// finding_shown.
static bool read_finding_result(const struct field_finding *f, const struct run_outcome *outcome,
    char *text, size_t size, enum shown *shown, struct err *e)
{
    json_t *result FREED_BY(json_decrefp) = parse_file(outcome->folder, "result.json", e);

    if (!result)
        return false;
    *shown = finding_shown(f, outcome, json_object_get(result, "metrics"), text, size);
    return true;
}

// Runs the finding's scenario once against a subject, and counts the run. False when no further run
// makes sense: after a wrong option, a missing part of the machine, or a signal.
static bool run_seed(const struct field_finding *f, const struct options *o, const char *subject,
    int seed, struct tries *t, struct err *e)
{
    struct run_options how = {
        .postgres = o->conninfo, .out = o->out, .quiet = true, .silent = true};
    struct options own = *o;
    struct subject_sets sets FREED_BY(subjects_sets_fini) = {0};
    struct run_outcome outcome = {0};
    struct scenario s FREED_BY(scenario_fini) = {0};
    char path[PATH_MAX], text[80] = "not seen";
    enum shown shown = SHOWN_DOUBT;

    own.run.subject = subject;
    snprintf(own.seed, sizeof own.seed, "seed=%d", seed);
    bool ok = path_join(path, f->dir, "scenario.yaml", e) && subjects_sets(&sets, &own, e);
    sets.overrides.trust = TRUST_ALL; // findings come with the program
    ok = ok && scenario_load(&s, path, &sets.overrides, e);
    if (ok)
        subjects_adapt(&s);
    ok = ok && run_scenario(&s, &how, &outcome, e) &&
         read_finding_result(f, &outcome, text, sizeof text, &shown, e);
    if (!ok && (e->kind == ERR_USAGE || e->kind == ERR_SKIP || e->kind == ERR_INTERRUPTED))
        return false;
    // If the harness itself failed, such as on a busy machine, count the run as inconclusive and go
    // on with the next seed.
    if (!ok)
        snprintf(text, sizeof text, "not run: %.60s", e->text);
    err_clear(e);
    t->runs++;
    t->seen += ok && shown == SHOWN_FINDING;
    t->inconclusive += !ok || shown == SHOWN_DOUBT;
    if (!o->quiet)
        fprintf(stderr, "%s, %s, seed %d: %s\n", f->id, strrchr(subject, '/') + 1, seed,
            ok && shown == SHOWN_DOUBT ? "inconclusive" : text);
    return true;
}

// --- all runs ---------------------------------------------------------------------------

// Installs a subject if needed, runs it with each seed, and prints how often it showed the defect.
static bool run_subject(const struct field_finding *f, const struct options *o, const char *name,
    struct tries *all, struct err *e)
{
    char path[PATH_MAX], real[PATH_MAX];
    struct manifest m FREED_BY(manifest_fini) = {0};
    struct tries t = {0};

    if (!path_join(path, f->dir, name, e))
        return false;
    if (!realpath(path, real))
        return err_sys(e, ERR_USAGE, "there is no subject in %s", path);
    // The manifest pins the version to install, because a newer one may be mended.
    bool ok = manifest_load(&m, real, e) &&
              (o->field.no_install ? manifest_installed(&m, e) : install_subject(&m, e));
    const int seeds = o->repeat ? o->repeat : SEEDS_DEFAULT;

    for (int seed = 1; ok && seed <= seeds; seed++)
        ok = run_seed(f, o, m.dir, seed, &t, e);
    if (ok)
        printf("%s, %s %s: seen in %d of %d runs%s\n", f->id, f->project, m.version, t.seen,
            t.runs - t.inconclusive, t.inconclusive ? ", others were inconclusive" : "");
    fflush(stdout);
    all->runs += t.runs;
    all->seen += t.seen;
    all->inconclusive += t.inconclusive;
    return ok;
}

bool finding_reproduce(const struct options *o, const char *id, int *code, struct err *e)
{
    struct field_finding f FREED_BY(finding_fini) = {0};
    struct tries all = {0};
    bool ok = finding_load(&f, id, e);

    if (ok && o->field.control && !f.good[0])
        ok = err_set(e, ERR_USAGE, "%s has no subject for a control: %s", f.id, f.control);
    if (ok)
        printf("%s: %s\n", f.id, f.title);
    for (char **name = o->field.control ? f.good : f.bad; ok && *name; name++)
        ok = run_subject(&f, o, *name, &all, e);
    *code = all.seen > 0 ? EXIT_SEEN : EXIT_NOT_SEEN;
    if (all.inconclusive == all.runs && all.seen == 0)
        *code = EXIT_INCONCLUSIVE;
    return ok;
}
