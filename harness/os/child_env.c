#include "os/child_env.h"

#include <ctype.h>

#define NAME_MAX_LEN 128

static const char *const allowed[] = {
    "PATH",
    "HOME",
    "LANG",
    "TZ",
    "TMPDIR",
#ifdef MAILPROOF_SANITIZED
    "ASAN_OPTIONS",
    "LSAN_OPTIONS",
    "TSAN_OPTIONS",
    "UBSAN_OPTIONS",
#endif
};

static void copy_variable(struct child_env *s, const char *name)
{
    const char *value = getenv(name);

    if (value)
        child_env_set(s, name, value);
}

// Copies the variables that child_env_pass has named.
static void copy_passed(struct child_env *s)
{
    const char *at = getenv(CHILD_ENV_PASSED);
    char name[NAME_MAX_LEN];

    while (at && *at) {
        size_t len = strcspn(at, ",");
        snprintf(name, sizeof name, "%.*s", (int)len, at);
        copy_variable(s, name);
        at += len + (at[len] == ',');
    }
}

void child_env_init(struct child_env *s)
{
    *s = (struct child_env){0};
    // An environment without variables still needs its terminating NULL.
    memory_grow(&s->items, 0, 1, sizeof *s->items);
    s->items[0] = NULL;
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
        copy_variable(s, allowed[i]);
    copy_passed(s);
}

void child_env_fini(struct child_env *s)
{
    memory_free_texts(s->items);
    *s = (struct child_env){0};
}

// Returns the variable's index in s->items; s->count: it is not there.
static size_t index_of_variable(const struct child_env *s, const char *name)
{
    size_t len = strlen(name), i = 0;

    for (; i < s->count; i++) {
        assert(s->items[i]); // only the element behind the last one is NULL
        if (strncmp(s->items[i], name, len) == 0 && s->items[i][len] == '=')
            break;
    }
    return i;
}

void child_env_set(struct child_env *s, const char *name, const char *value)
{
    size_t at = index_of_variable(s, name);

    // A name must not come twice, because programs differ in which of two values they take.
    if (at < s->count) {
        free(s->items[at]);
    } else {
        // 2: the variable, and the NULL behind the last one.
        memory_grow(&s->items, s->count, 2, sizeof *s->items);
        s->items[++s->count] = NULL;
    }
    s->items[at] = memory_format("%s=%s", name, value);
}

static bool is_variable_name(const char *text)
{
    size_t len = 0;

    while (isalnum((unsigned char)text[len]) || text[len] == '_')
        len++;
    return len > 0 && len < NAME_MAX_LEN && !text[len] && !isdigit((unsigned char)*text);
}

bool child_env_pass(const char *name, struct err *e)
{
    const char *before = getenv(CHILD_ENV_PASSED);

    if (!is_variable_name(name))
        return err_set(e, ERR_USAGE,
            "--pass-env takes the name of a variable, of letters, digits and _, not '%.40s'", name);
    char *all FREED_BY(memory_free) =
        memory_format("%s%s%s", before ? before : "", before ? "," : "", name);
    return setenv(CHILD_ENV_PASSED, all, 1) == 0 || err_memory(e);
}

void child_env_remove_libpq(void)
{
    char name[NAME_MAX_LEN];
    char **v = environ;

    // All names of libpq begin with PG and a letter; mailproof's own PG_BINDIR does not. libpq's
    // own list, of PQconndefaults, lacks PGTZ, PGSERVICEFILE and others.
    while (*v) {
        size_t len = strcspn(*v, "=");
        if (strncmp(*v, "PG", 2) != 0 || !isupper((unsigned char)(*v)[2]) || len >= sizeof name) {
            v++;
            continue;
        }
        snprintf(name, sizeof name, "%.*s", (int)len, *v);
        unsetenv(name); // moves the next variable to this place, so v stays
    }
}
