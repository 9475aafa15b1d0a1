#include "report/files/parse_json.h"

#include <math.h>

#include "os/paths.h"

json_t *parse_file(const char *folder, const char *name, struct err *e)
{
    char path[PATH_MAX];
    json_error_t wrong;

    if (!path_join(path, folder, name, e))
        return NULL;
    FILE *file = fopen(path, "re");
    if (!file) {
        err_sys(e, ERR_USAGE, "cannot read %.900s", path);
        return NULL;
    }
    json_t *root = json_loadf(file, 0, &wrong);
    fclose(file);
    if (json_is_object(root))
        return root;
    // In JSON that is well-formed but no object, the parser names no line, so the message has 1.
    err_set(e, ERR_USAGE, "%.900s: line %d: %s", path, root ? 1 : wrong.line,
        root ? "not an object" : wrong.text);
    json_decref(root);
    return NULL;
}

double parse_number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

double parse_figure(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    return json_is_number(value) ? json_number_value(value) : NAN;
}

int64_t parse_integer(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

void parse_text(const json_t *object, const char *key, char *text, size_t size)
{
    const char *value = json_string_value(json_object_get(object, key));

    snprintf(text, size, "%s", value ? value : "");
}

bool append_root(json_t *root, size_t flags, struct buf *out)
{
    char *text FREED_BY(memory_free) = root ? json_dumps(root, flags) : NULL;
    bool ok = text && buf_append_str(out, text) && buf_append_char(out, '\n');

    json_decref(root);
    return ok;
}
