// Any environment either gives settings within their limits, or is refused with a text that names
// the variable and shows no secret. The input: the variables, each ended by a NUL; then an empty
// variable, and the content of the key file.
#include "fuzz/fuzz.h"
#include "settings/config.h"

#define VARIABLES_MAX 64

// True for refusals about a secret, whose texts leave the value out.
static bool hides_value(const char *refusal)
{
    static const char *const texts[] = {
        " is not set; a libpq connection string or URI is needed",
        " is a value that is not shown here; it must have 1 to 4096 characters",
        (" is a value that is not shown here; it must be a libpq connection string or URI with "
         "nothing that libpq does not know"),
        " holds a value that is not shown here; it must be exactly 64 hex digits",
    };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(texts[i], refusal) == 0)
            return true;
    return false;
}

// A refusal begins with the variable that it is about. When that is a secret, the rest is one of
// the texts of hides_value.
static void check_refusal(const struct err *e)
{
    static const char *const secrets[] = {"MAILROOM_DATABASE_URL", "MAILROOM_SECRET_KEY"};

    FUZZ_MUST(e->kind == ERR_USAGE && strstr(e->text, "MAILROOM_"));
    for (size_t i = 0; i < sizeof secrets / sizeof *secrets; i++) {
        size_t name = strlen(secrets[i]);
        if (strncmp(e->text, secrets[i], name) == 0 && e->text[name] == ' ')
            FUZZ_MUST(hides_value(e->text + name));
    }
}

static void check_settings(const struct config *c)
{
    FUZZ_MUST(c->database_url && *c->database_url && *c->channel_name && *c->queue_name);
    FUZZ_MUST(strlen(c->channel_name) <= 63 && strlen(c->queue_name) <= 63);
    FUZZ_MUST(c->batch_limit >= 1 && c->batch_limit <= 100000);
    FUZZ_MUST(c->batch_timeout_ms >= 0 && c->grace_ms >= 0);
    FUZZ_MUST(c->healthcheck_interval_ms >= c->batch_timeout_ms);
    FUZZ_MUST(c->policy && c->policy == policy_find(c->dequeue));
    FUZZ_MUST(!c->secret_key || !c->secret_key[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1), *at = text, *variables[VARIABLES_MAX + 1] = {0};
    struct config c;
    struct err e = {0};
    size_t count = 0, unknown = 0, len;

    FUZZ_MUST(text);
    memcpy(text, data, size);
    text[size] = '\0';
    for (; at < text + size && *at && count < VARIABLES_MAX; at += strlen(at) + 1)
        variables[count++] = at;
    files_clear();
    if (at < text + size)
        files_add("/key", at + 1, (size_t)(text + size - at) - 1);
    if (config_load(&c, variables, &e)) {
        fuzz_accept();
        check_settings(&c);
    } else {
        check_refusal(&e);
    }
    config_fini(&c);
    const char *name;
    while ((name = variables_unknown(&config_variables, variables, &unknown, &len)) != NULL)
        FUZZ_MUST(len <= strlen(name) && unknown <= count);
    free(text);
    return 0;
}
