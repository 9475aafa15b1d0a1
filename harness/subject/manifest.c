#include "subject/manifest.h"

#include <glob.h>

#include "os/other_user.h"
#include "os/paths.h"
#include "os/process.h"
#include "os/child_env.h"
#include "scenario/decode.h"
#include "scenario/parse.h"
#include "scenario/scenario.h"
#include "scenario/suggest.h"

#define AT(member) offsetof(struct manifest, member)
#define MANIFEST_MAX (64u << 10)
#define RETRY_LONG_NS (INT64_C(60) * NS_PER_S) // `field` does not wait for a longer retry

static const struct word kinds[] = {
    {"queue", KIND_QUEUE},
    {"workflow", KIND_WORKFLOW},
    {"log", KIND_LOG},
    {"pattern", KIND_PATTERN},
    {0},
};

static const struct field fields[] = {
    {"name", FIELD_STRING, AT(name), .help = "the folder's name"},
    {"summary", FIELD_STRING, AT(summary), .help = "one line"},
    {"version", FIELD_STRING, AT(version), .help = "the version that is judged"},
    {"kind", FIELD_WORD, AT(kind), .default_text = "queue", .words = kinds,
        .help = "queue, workflow, log or pattern"},
    {"newest", FIELD_STRING, AT(newest), .default_text = MANIFEST_NONE,
        .help = "the newest release, where it cannot be installed"},
    {"wakes", FIELD_STRING, AT(wakes), .default_text = "not said",
        .help = "how it notices a new job"},
    {"concurrency", FIELD_STRING, AT(concurrency), .default_text = "not said",
        .help = "how many jobs one worker has in hand at once"},
    {"runtime", FIELD_STRINGS, AT(runtime), .default_text = "[]",
        .help = "a command that prints the version of its language"},
    {"mode", FIELD_STRING, AT(mode), .default_text = "as documented", .help = "which of its modes"},
    {"debian", FIELD_STRINGS, AT(debian), .default_text = "[]", .help = "Debian packages"},
    {"npm", FIELD_STRING, AT(npm), .default_text = MANIFEST_NONE,
        .help = "the folder in which npm ci installs it"},
    {"check", FIELD_STRINGS, AT(check), .default_text = "[]",
        .help = "a command that fails where it is not installed"},
    {"absent", FIELD_STRING, AT(why_not_installable), .default_text = MANIFEST_NONE,
        .help = "why it cannot be installed from Debian or npm"},
    {"superuser", FIELD_STRING, AT(superuser), .default_text = MANIFEST_NONE,
        .help = "an SQL file that a superuser runs first"},
    {"schema", FIELD_STRINGS, AT(schema), .default_text = "[]",
        .help = "the command that makes its tables"},
    {"enqueue", FIELD_STRING, AT(enqueue), .default_text = MANIFEST_NONE,
        .help = "one statement: $1 is the job's number, $2 its payload, both text; or client"},
    {"producer", FIELD_STRINGS, AT(producer), .default_text = "[]",
        .help = "of enqueue: client, the command that puts jobs"},
    {"answers", FIELD_BOOL, AT(answers), .default_text = "false",
        .help = "whether the consumer asks for each job how its handler should end"},
    {"consumer", FIELD_STRINGS, AT(consumer), .default_text = "[]", .help = "its consumer"},
    {"promises", FIELD_QUOTED, AT(promises), .default_text = "[]", .words = promise_words,
        .help = "its promises; only these are judged"},
    {"retry_within", FIELD_DURATION, AT(retry_within_ns), .default_text = "15s", .min = 0,
        .max = INT64_C(7) * 24 * 3600 * NS_PER_S,
        .help = "how long its own retry of an interrupted job may take"},
    {"retry_documented", FIELD_STRING, AT(retry_documented), .default_text = MANIFEST_NONE,
        .help = "where its documentation says so"},
    {"taken", FIELD_STRING, AT(taken), .default_text = MANIFEST_NONE,
        .help = "a query for the number of jobs that a worker has taken and not finished"},
    {"claim", FIELD_DURATION, AT(claim_ns), .default_text = "0s", .min = 0,
        .max = INT64_C(7) * 24 * 3600 * NS_PER_S,
        .help = "how long a job belongs to the worker that took it; 0s: no time ends that"},
    {"retry_default", FIELD_STRING, AT(retry_default), .default_text = MANIFEST_NONE,
        .help = "how long a dead worker's job waits by default, where it is shorter here"},
    {"failed", FIELD_STRING, AT(failed), .default_text = MANIFEST_NONE,
        .help = "a query for the number of jobs that failed for good and are kept"},
    {"end_state", FIELD_STRING, AT(end_state), .default_text = MANIFEST_NONE,
        .help = "a query for the number of jobs that are left"},
};

static const struct table table = {
    .fields = fields, .count = sizeof fields / sizeof *fields, .size = sizeof(struct manifest)};

static bool parse_manifest(struct manifest *m, const char *path, struct err *e)
{
    struct origin origin = {.file = path, .line = 1, .column = 1};
    struct node *root = NULL;
    struct buf text FREED_BY(buf_fini) = BUF_INIT(MANIFEST_MAX);

    bool ok = path_read(path, &text, ERR_USAGE, e) &&
              parse_yaml(&root, text.data, text.len, &origin, e) && decode_map(&table, root, m, e);
    node_free(root);
    return ok;
}

bool manifest_is_client(const struct manifest *m)
{
    return m->enqueue && strcmp(m->enqueue, MANIFEST_CLIENT) == 0;
}

const char *manifest_kind_text(int kind)
{
    static const char *const texts[] = {
        [KIND_QUEUE] = "job queue",
        [KIND_WORKFLOW] = "durable workflow",
        [KIND_LOG] = "batch log",
        [KIND_PATTERN] = "pattern, not a product",
    };

    return texts[kind];
}

bool manifest_quoted(const struct manifest *m, struct err *e)
{
    for (const struct word *w = promise_words; w->name; w++) {
        if ((m->promises.flags & (int)w->value) && !quoted_find(&m->promises, (int)w->value))
            return err_set(e, ERR_USAGE,
                "%s/subject.yaml: promises: %s has no evidence; 'field' judges a promise only with "
                "the words that make it: promises: {%s: {quote: ..., url: ...}}",
                m->dir, w->name, w->name);
    }
    return true;
}

// Checks that the url of each promise is the address of a page, or names a file in the subject's
// folder.
static bool check_addresses(const struct manifest *m, const char *path, struct err *e)
{
    for (size_t i = 0; i < m->promises.count; i++) {
        const char *url = m->promises.items[i].url;
        if (strstr(url, "://") || path_has(m->dir, url))
            continue;
        return err_set(e, ERR_USAGE,
            "%s: promises: url: '%.200s' is neither an address nor a file in this folder", path,
            url);
    }
    return true;
}

// Checks what the grammar cannot say: the name, and that the needed commands and addresses are
// there. A subject that cannot be installed needs only a correct name.
static bool check_manifest(const struct manifest *m, const char *path, struct err *e)
{
    // Scenarios name a subject by its folder, results by its name. Both must be the same.
    if (strcmp(m->name, path_name(m->dir)) != 0)
        return err_set(e, ERR_USAGE, "%s: name: '%s' should be the folder's name", path, m->name);
    if (strcmp(m->why_not_installable, MANIFEST_NONE) != 0)
        return true;
    if (!check_addresses(m, path, e))
        return false;
    // `field` does not wait so long for a job to come again. It relies on the documentation
    // instead, and only for as many jobs as `taken` counts.
    if (m->retry_within_ns > RETRY_LONG_NS && strcmp(m->retry_documented, MANIFEST_NONE) == 0)
        return err_set(e, ERR_USAGE,
            "%s: retry_within: more than a minute needs retry_documented, where its documentation "
            "says so",
            path);
    if (m->retry_within_ns > RETRY_LONG_NS && strcmp(m->taken, MANIFEST_NONE) == 0)
        return err_set(e, ERR_USAGE,
            "%s: retry_within: more than a minute needs taken, a query for the number of jobs that "
            "workers hold",
            path);
    if (!m->consumer[0] || strcmp(m->enqueue, MANIFEST_NONE) == 0)
        return err_set(e, ERR_USAGE, "%s: enqueue and consumer are needed", path);
    if (manifest_is_client(m))
        return m->producer[0] ||
               err_set(e, ERR_USAGE, "%s: enqueue: client needs producer, a command", path);
    return strstr(m->enqueue, "$1") ||
           err_set(e, ERR_USAGE, "%s: enqueue: $1, the job's number, is missing", path);
}

bool manifest_folder(char out[PATH_MAX], struct err *e)
{
    struct err ignored;

    return path_share(out, "subjects", &ignored) || path_share(out, "harness/subjects", e);
}

// Fails because there is no such subject, with a suggestion of a name that is nearly the same.
static bool refuse_manifest(const char *name, struct err *e)
{
    struct suggestion near;
    char **names;
    struct err ignored;

    suggest_init(&near, name);
    if (manifest_names(&names, &ignored)) {
        for (size_t i = 0; names[i]; i++)
            suggest_offer(&near, names[i]);
        memory_free_texts(names);
    }
    return err_set(e, ERR_USAGE,
        "there is no subject '%.100s': neither a folder with subject.yaml nor one that "
        "'mailproof list' shows%s",
        name, near.text);
}

bool manifest_load(struct manifest *m, const char *name, struct err *e)
{
    char folders[PATH_MAX], path[PATH_MAX];

    *m = (struct manifest){0};
    // A name with a slash is the path of a user's folder; any other name is a folder that comes
    // with mailproof.
    if (strchr(name, '/')) {
        if (!realpath(name, m->dir))
            return err_sys(e, ERR_USAGE, "there is no subject in %.300s", name);
    } else if (!manifest_folder(folders, e) || !path_join(m->dir, folders, name, e)) {
        return false;
    }
    if (!path_join(path, m->dir, "subject.yaml", e))
        return false;
    if (!path_exists(path))
        return refuse_manifest(name, e);
    return parse_manifest(m, path, e) && check_manifest(m, path, e);
}

void manifest_fini(struct manifest *m)
{
    for (size_t i = 0; i < table.count; i++) {
        void *member = (char *)m + fields[i].offset;
        if (fields[i].type == FIELD_STRING)
            memory_free(member);
        else if (fields[i].type == FIELD_STRINGS)
            memory_free_texts(*(char ***)member);
    }
    quoted_fini(&m->promises);
    *m = (struct manifest){0};
}

// Fails with the commands that install the subject. It names the commands themselves and not
// ci/field, because an installed package of mailproof does not contain ci/field.
static bool refuse_missing(const struct manifest *m, struct err *e)
{
    char folder[PATH_MAX], real[PATH_MAX];
    struct buf how FREED_BY(buf_fini) = BUF_INIT(2000);

    for (char **package = m->debian; *package; package++)
        buf_printf(&how, "%s%s", package == m->debian ? "apt-get install " : " ", *package);
    if (strcmp(m->npm, MANIFEST_NONE) != 0) {
        if (!path_join(folder, m->dir, m->npm, e))
            return false;
        buf_printf(&how, "%s(cd %s && npm ci --ignore-scripts)", how.len > 0 ? " && " : "",
            realpath(folder, real) ? real : folder);
    }
    return err_set(e, ERR_SKIP, "%s is not installed here; this installs it: %s", m->name,
        how.len > 0 && buf_str(&how) ? how.data : "see its subject.yaml");
}

// Runs a command of the subject and collects what it prints. It runs as the user that the subject's
// programs run as, because root would also find programs that this user may not run. It does not
// get the caller's environment, which may hold passwords.
static bool ask_subject(
    const struct manifest *m, char *const *argv, char *text, size_t size, struct err *e)
{
    struct process_spec spec = PROCESS_SPEC_INIT;
    struct child_env env;

    child_env_init(&env);
    spec.argv = (const char *const *)argv;
    spec.env = (const char *const *)env.items;
    spec.dir = m->dir;
    bool ok = other_user_apply(&spec, e) && process_collect(&spec, text, size, e);
    child_env_fini(&env);
    return ok;
}

bool manifest_installed(const struct manifest *m, struct err *e)
{
    char text[200];
    struct err ignored;

    if (strcmp(m->why_not_installable, MANIFEST_NONE) != 0)
        return err_set(e, ERR_SKIP, "%s: %s", m->name, m->why_not_installable);
    return !m->check[0] || ask_subject(m, m->check, text, sizeof text, &ignored) ||
           refuse_missing(m, e);
}

void manifest_runtime(const struct manifest *m, char *text, size_t size)
{
    struct err ignored;

    if (m->runtime[0] && ask_subject(m, m->runtime, text, size, &ignored))
        text[strcspn(text, "\n")] = '\0';
    else
        *text = '\0';
}

bool manifest_names(char ***names, struct err *e)
{
    char folders[PATH_MAX], pattern[PATH_MAX];
    glob_t found = {0};

    *names = NULL;
    if (!manifest_folder(folders, e) || !path_join(pattern, folders, "*/subject.yaml", e))
        return false;
    // The result of glob is not needed: when it finds nothing, the list is empty.
    glob(pattern, 0, NULL, &found);
    *names = memory_zeroed(found.gl_pathc + 1, sizeof **names);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        // A path is FOLDER/NAME/subject.yaml.
        char *end = strrchr(found.gl_pathv[i], '/');
        *end = '\0';
        (*names)[i] = memory_copy(strrchr(found.gl_pathv[i], '/') + 1);
    }
    globfree(&found);
    return true;
}
