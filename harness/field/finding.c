#include "field/finding.h"

#include <glob.h>

#include "os/paths.h"
#include "scenario/decode.h"
#include "scenario/metric.h"
#include "scenario/parse.h"
#include "scenario/suggest.h"
#include "subject/manifest.h"

#define AT(member) offsetof(struct field_finding, member)
#define FINDING_MAX (64u << 10)
#define FENCE "---\n"

// In the order of enum finding_state.
static const struct word states[] = {
    {"draft", FINDING_DRAFT},
    {"reported", FINDING_REPORTED},
    {"confirmed", FINDING_CONFIRMED},
    {"documented", FINDING_DOCUMENTED},
    {"fixed", FINDING_FIXED},
    {"withdrawn", FINDING_WITHDRAWN},
    {0},
};

static const struct field promise_fields[] = {
    {"quote", FIELD_STRING, AT(quote), .help = "the words of its documentation"},
    {"url", FIELD_STRING, AT(url), .help = "where these words stand"},
};

static const struct table promise_table = {
    .fields = promise_fields, .count = 2, .size = sizeof(struct field_finding)};

static const struct field fields[] = {
    {"title", FIELD_STRING, AT(title), .help = "what goes wrong, in one sentence"},
    {"project", FIELD_STRING, AT(project), .help = "the queue's name"},
    {"bad", FIELD_STRINGS, AT(bad), .help = "the subjects that show it"},
    {"good", FIELD_STRINGS, AT(good), .default_text = "[]", .help = "those that do not"},
    {"breaks", FIELD_STRINGS, AT(breaks), .help = "invariants, or left: one is above zero"},
    {"says", FIELD_STRING, AT(says), .default_text = FINDING_NONE,
        .help = "words that a log of the subject must hold"},
    {"state", FIELD_WORD, AT(state), .words = states, .help = "what became of it"},
    {"first_bad", FIELD_STRING, AT(first_bad),
        .help = "the first version that is known to have it"},
    {"last_tested", FIELD_STRING, AT(last_tested), .help = "the newest version that was tried"},
    {"fixed_in", FIELD_STRING, AT(fixed_in), .default_text = FINDING_NONE,
        .help = "the first version that is known not to have it"},
    {"tracker", FIELD_STRING, AT(tracker), .default_text = FINDING_NONE,
        .help = "the address of its issue"},
    {"promise", FIELD_MAP, 0, .table = &promise_table, .help = "the promise that it breaks"},
    {"seen", FIELD_STRING, AT(seen), .help = "in how many runs it was seen, when and where"},
    {"control", FIELD_STRING, AT(control), .help = "in how many runs of the control"},
    {"workaround", FIELD_STRING, AT(workaround), .help = "what users can do now"},
};

static const struct table table = {.fields = fields,
    .count = sizeof fields / sizeof *fields,
    .size = sizeof(struct field_finding)};

const char *finding_state_text(int state)
{
    return states[state].name;
}

// Parses FINDING.md: the front matter, between two lines of three dashes, and the text after it.
static bool parse_finding(
    struct field_finding *f, const char *path, const char *text, struct err *e)
{
    struct origin origin = {.file = path, .line = 2, .column = 1}; // where the YAML begins
    struct node *root = NULL;

    if (strncmp(text, FENCE, strlen(FENCE)) != 0)
        return err_set(e, ERR_USAGE, "%s: the first line should be ---", path);
    const char *yaml = text + strlen(FENCE), *end = strstr(yaml, "\n" FENCE);
    if (!end)
        return err_set(e, ERR_USAGE, "%s: the front matter has no end, a line with ---", path);
    bool ok = parse_yaml(&root, yaml, (size_t)(end + 1 - yaml), &origin, e) &&
              decode_map(&table, root, f, e);
    node_free(root);
    f->text = memory_copy(end + 1 + strlen(FENCE));
    return ok;
}

// Checks what the grammar cannot say about the keys.
static bool check_finding(const struct field_finding *f, const char *path, struct err *e)
{
    if (!f->bad[0] || !f->breaks[0])
        return err_set(e, ERR_USAGE, "%s: bad and breaks must name something", path);
    for (char **name = f->breaks; *name; name++) {
        const struct metric *m = metric_find(*name);
        if ((!m || !m->invariant) && strcmp(*name, FINDING_LEFT) != 0)
            return err_set(e, ERR_USAGE, "%s: breaks: '%s' is neither an invariant nor %s", path,
                *name, FINDING_LEFT);
    }
    // A promise must have an address where readers can look it up; otherwise the finding would
    // accuse without proof.
    if (!strstr(f->url, "://"))
        return err_set(e, ERR_USAGE, "%s: promise: url: '%s' is no address", path, f->url);
    if (f->state == FINDING_FIXED && strcmp(f->fixed_in, FINDING_NONE) == 0)
        return err_set(e, ERR_USAGE, "%s: state: fixed needs fixed_in", path);
    // From "reported" on, the maintainers know of the defect, and readers should see what they
    // answered.
    if (f->state != FINDING_DRAFT && f->state != FINDING_WITHDRAWN &&
        strcmp(f->tracker, FINDING_NONE) == 0)
        return err_set(e, ERR_USAGE, "%s: state: %s needs tracker, the address of its issue", path,
            finding_state_text(f->state));
    return true;
}

// Fails because there is no such finding, with a suggestion of an id that is nearly the same.
static bool refuse_finding(const char *id, struct err *e)
{
    struct suggestion near;
    char **ids;
    struct err ignored;

    suggest_init(&near, id);
    if (finding_ids(&ids, &ignored)) {
        for (size_t i = 0; ids[i]; i++)
            suggest_offer(&near, ids[i]);
        memory_free_texts(ids);
    }
    return err_set(e, ERR_USAGE,
        "there is no finding '%.60s': neither in subjects/findings nor in subjects/defects%s", id,
        near.text);
}

bool finding_load(struct field_finding *f, const char *id, struct err *e)
{
    static const char *const folders[] = {"defects", "findings"};
    char all[PATH_MAX], below[PATH_MAX], path[PATH_MAX];
    struct buf text FREED_BY(buf_fini) = BUF_INIT(FINDING_MAX);

    *f = (struct field_finding){0};
    snprintf(f->id, sizeof f->id, "%s", id);
    if (!manifest_folder(all, e))
        return false;
    for (size_t i = 0; i < 2; i++) {
        if (!path_join(below, all, folders[i], e) || !path_join(f->dir, below, f->id, e) ||
            !path_join(path, f->dir, "FINDING.md", e))
            return false;
        f->ours = i == 1; // in findings/
        if (path_exists(path))
            break;
    }
    // An id is a name and no path. A path could lead to a finding that does not come with
    // mailproof, but run_seed trusts the scenarios of findings.
    if (strchr(id, '/') || !path_exists(path))
        return refuse_finding(id, e);
    return path_read(path, &text, ERR_USAGE, e) && parse_finding(f, path, text.data, e) &&
           check_finding(f, path, e);
}

void finding_fini(struct field_finding *f)
{
    char *texts[] = {f->title, f->project, f->says, f->first_bad, f->last_tested, f->fixed_in,
        f->tracker, f->quote, f->url, f->seen, f->control, f->workaround, f->text};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        free(texts[i]);
    memory_free_texts(f->bad);
    memory_free_texts(f->good);
    memory_free_texts(f->breaks);
    *f = (struct field_finding){0};
}

bool finding_ids(char ***ids, struct err *e)
{
    char all[PATH_MAX], findings[PATH_MAX], defects[PATH_MAX];
    glob_t found = {0};

    *ids = NULL;
    if (!manifest_folder(all, e) || !path_join(findings, all, "findings/*/FINDING.md", e) ||
        !path_join(defects, all, "defects/*/FINDING.md", e))
        return false;
    // It is no error when nothing matches, because either folder may be empty.
    glob(findings, 0, NULL, &found);
    glob(defects, GLOB_APPEND, NULL, &found);
    *ids = memory_zeroed(found.gl_pathc + 1, sizeof **ids);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        char *path = found.gl_pathv[i];
        *strrchr(path, '/') = '\0'; // cuts off FINDING.md, whose folder has the id as its name
        (*ids)[i] = memory_copy(strrchr(path, '/') + 1);
    }
    globfree(&found);
    return true;
}
