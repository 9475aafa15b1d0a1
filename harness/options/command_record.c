#include "options/command_record.h"

#include "base/utf8.h"
#include "os/paths.h"
#include "report/files/environment.h"

#define SCENARIO_TEXT_MAX (4u << 20)

// Returns version and commit of this program. Only environment_take knows the commit.
static const char *program_version(void)
{
    static char text[120];
    const struct durability_proof none = {0};
    struct environment here = {0};

    // Proof and server version (0) do not matter here.
    environment_take(&here, &none, 0);
    snprintf(text, sizeof text, "mailproof %s (%s)", here.mailproof, here.commit);
    return text;
}

uint32_t command_record_hash(uint32_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 16777619u;
    return hash;
}

static bool hash_scenarios(
    uint32_t *hash, const struct scenario *scenarios, size_t count, struct err *e)
{
    for (size_t i = 0; i < count; i++) {
        struct buf text FREED_BY(buf_fini) = BUF_INIT(SCENARIO_TEXT_MAX);
        if (!scenario_write(&scenarios[i], &text, e))
            return false;
        *hash = command_record_hash(*hash, text.data);
    }
    return true;
}

bool command_record_about(char about[COMMAND_RECORD_ABOUT_MAX], const struct options *o,
    const struct scenario *scenarios, size_t count, struct err *e)
{
    uint32_t hash = COMMAND_RECORD_HASH_INIT;
    size_t len = 0;

    for (size_t i = 0; i < o->asked_count && len < COMMAND_RECORD_ABOUT_MAX; i++)
        len += (size_t)snprintf(about + len, COMMAND_RECORD_ABOUT_MAX - len, "%s ", o->asked[i]);
    if (!hash_scenarios(&hash, scenarios, count, e))
        return false;
    if (len < COMMAND_RECORD_ABOUT_MAX)
        len += (size_t)snprintf(about + len, COMMAND_RECORD_ABOUT_MAX - len, "(%08x)", hash);
    if (len >= COMMAND_RECORD_ABOUT_MAX)
        return err_set(e, ERR_USAGE, "the options are too long");
    return utf8_valid(about) ||
           err_set(e, ERR_USAGE, "options have to be UTF-8, because the record is");
}

void command_record_head(
    struct record_head *head, const struct options *o, const char *command, const char *about)
{
    *head = (struct record_head){
        .command = command,
        .about = about,
        .asked = (const char *const *)o->asked,
        .program = program_version(),
        .shard = o->shard,
        .merged = o->merged,
    };
}

bool command_record_open(struct record *r, const struct options *o, const char *command,
    const char *about, bool several, struct err *e)
{
    char folder[PATH_MAX], name[40];
    struct record_head head;

    command_record_head(&head, o, command, about);
    head.anew_if_finished = true;
    // A shard's record is needed until the merge. Any other record only serves --resume, so
    // record_finish removes it, and an old one is dropped without --resume.
    head.temporary = o->shard.of == 0;
    head.anew = head.temporary && !o->resume;
    if (o->merged || (head.temporary && !several))
        return record_open(r, NULL, &head, e);
    snprintf(name, sizeof name, "%s-%08x", command,
        command_record_hash(COMMAND_RECORD_HASH_INIT, about));
    return path_join(folder, o->out, name, e) && record_open(r, folder, &head, e);
}

void command_record_close(struct record *r)
{
    struct err ignored;
    // A temporary record (not of a shard) that still has a file was not finished. Without any line
    // in the file there is nothing to resume, so the file is removed. `forgot`: it has lines that
    // are not kept in memory.
    bool unfinished = r->temporary && r->file;
    bool has_lines = unfinished && (r->forgot || json_array_size(r->lines) > 0);

    if (has_lines)
        fprintf(
            stderr, "mailproof: what is done is kept; the same command with --resume goes on\n");
    else if (unfinished && !record_finish(r, &ignored))
        fprintf(stderr, "mailproof: %s\n", ignored.text);
    record_close(r);
}

const char *command_record_below(const char *path, const char *out)
{
    size_t len = strlen(out);

    return strncmp(path, out, len) == 0 && path[len] == '/' ? path + len + 1 : path;
}

bool command_record_path(
    char out[PATH_MAX], const struct record *r, const json_t *line, const char *key, struct err *e)
{
    const char *path = json_string_value(json_object_get(line, key));
    const char *folder = record_folder(r, line);

    *out = '\0';
    // The record's folder lies in the shard's --out, to which the path is relative.
    return !path || !*path || path_beside(out, folder, path) ||
           err_set(e, ERR_SYSTEM, "%.200s beside %.200s: the path is too long", path, folder);
}
