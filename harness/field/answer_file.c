#include "field/answer_file.h"

#include <math.h>

#include "os/paths.h"
#include "report/files/parse_json.h"

#define AT(member) offsetof(struct answer, member)

static const struct {
    const char *name;
    size_t at;
} figures[] = {
    {"p50_ms", AT(p50)},
    {"p99_ms", AT(p99)},
    {"wal_bytes_per_job", AT(wal)},
    {"server_cpu_ms_per_job", AT(cpu_ms)},
    {"dead_tuples_max", AT(dead)},
    {"lost", AT(lost)},
    {"left", AT(left)},
    {"taken", AT(taken)},
    {"again", AT(again)},
    {"exits", AT(exits)},
    {"recovery_ms", AT(recovery_ms)},
    {"faults", AT(planned)},
    {"faults_struck", AT(struck)},
    {"postgres_version", AT(postgres)},
    {"deaf", AT(deaf)},
    {"judged", AT(judged)},
    {"in_hand", AT(in_hand)},
    {"rerun_ms", AT(rerun_ms)},
    {"at_once", AT(at_once)},
    {"failing", AT(failing)},
    {"attempts", AT(attempts)},
    {"attempts_apart_least_ms", AT(gap_min_ms)},
    {"attempts_apart_most_ms", AT(gap_max_ms)},
    {"kept_as_failed", AT(failed)},
};

#define FIGURES (sizeof figures / sizeof *figures)

// Returns the place in the answer for figures[i].
static double *place_of_figure(struct answer *a, size_t i)
{
    return (double *)(void *)((char *)a + figures[i].at);
}

// Adds the answer in a line of the file. False when the line is no answer.
static bool add_answer_line(struct answer_file *a, const char *text, struct err *e)
{
    json_error_t why;
    json_t *line FREED_BY(json_decrefp) = json_loads(text, 0, &why);
    const char *key = json_string_value(json_object_get(line, "run"));
    return (key && json_object_set(a->all, key, line) == 0) ||
           err_set(e, ERR_USAGE, "%s: '%.40s' is not an answer", a->path, text);
}

// Reads every whole line. Removes an unfinished last line, which the next answer would continue.
static bool read_answer_lines(struct answer_file *a, FILE *file, struct err *e)
{
    char *text FREED_BY(memory_free) = NULL;
    size_t size = 0;
    ssize_t len;
    off_t whole_bytes = 0;
    bool ok = true, cut = false;

    while (ok && !cut && (len = getline(&text, &size, file)) > 0) {
        // Only the last line can be unfinished, when the program was killed while it wrote.
        cut = text[len - 1] != '\n';
        ok = cut || add_answer_line(a, text, e);
        whole_bytes += cut ? 0 : len;
    }
    return ok && (!cut || truncate(a->path, whole_bytes) == 0 ||
                     err_sys(e, ERR_USAGE, "cannot shorten %s", a->path));
}

bool answer_file_open(struct answer_file *a, const char *path, struct err *e)
{
    *a = (struct answer_file){.path = path, .all = json_object()};
    FILE *file = path ? fopen(path, "re") : NULL;
    if (!file)
        // A file that is not there is no error: answer_file_store makes it.
        return !path || errno == ENOENT || err_sys(e, ERR_USAGE, "cannot read %s", path);
    bool ok = read_answer_lines(a, file, e);
    fclose(file);
    return ok;
}

void answer_file_close(struct answer_file *a)
{
    json_decref(a->all);
    *a = (struct answer_file){0};
}

bool answer_file_find(const struct answer_file *a, const char *key, struct answer *answer)
{
    const json_t *line = json_object_get(a->all, key);

    // An answer stored by an older version may lack some figures. It still counts, and these are
    // NAN.
    for (size_t i = 0; line && i < FIGURES; i++)
        *place_of_figure(answer, i) = parse_figure(line, figures[i].name);
    if (line) {
        parse_text(line, "folder", answer->folder, sizeof answer->folder);
        parse_text(line, "program", answer->program, sizeof answer->program);
        parse_text(line, "day", answer->day, sizeof answer->day);
    }
    return line;
}

json_t *answer_file_line(const char *key, const struct answer *answer)
{
    struct answer copy = *answer;
    json_t *line = json_pack("{s:s, s:s, s:s, s:s}", "run", key, "folder", answer->folder,
        "program", answer->program, "day", answer->day);

    for (size_t i = 0; i < FIGURES; i++) {
        double value = *place_of_figure(&copy, i);
        json_object_set_new(line, figures[i].name, isnan(value) ? json_null() : json_real(value));
    }
    return line;
}

bool answer_file_store(
    struct answer_file *a, const char *key, const struct answer *answer, struct err *e)
{
    json_t *line = answer_file_line(key, answer);

    if (!line)
        return err_set(e, ERR_USAGE, "no answer can be stored: a name or path is not UTF-8");
    json_object_set_new(a->all, key, line);
    if (!a->path)
        return true;
    // Write the answer at once, because a table takes hours and may be stopped.
    FILE *file = path_make_parent(a->path, e) ? fopen(a->path, "ae") : NULL;
    bool ok = file && json_dumpf(line, file, JSON_COMPACT) == 0 && fputc('\n', file) != EOF;
    ok = file && fclose(file) == 0 && ok;
    return ok || err_sys(e, ERR_SYSTEM, "cannot write %s", a->path);
}
