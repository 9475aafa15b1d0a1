#include "settings.h"

#include "base/base.h"

static bool env_number(const char *name, int64_t default_value, int64_t min, int64_t max,
    int64_t *out, struct err *e) MUST_USE;
static bool env_key(uint8_t *key, struct err *e) MUST_USE;

// Returns a variable of the environment; default_value when it is not set or empty.
static const char *env_text(const char *name, const char *default_value)
{
    const char *value = getenv(name);

    return value && *value ? value : default_value;
}

// Loads the settings of leased mode. The values are not checked, because only the harness's own
// scenarios set them.
static void load_lease(struct settings *s)
{
    s->retry_base_ms = strtoll(env_text("MAILROOM_RETRY_BASE", "1000"), NULL, 10);
    s->retry_max_ms = strtoll(env_text("MAILROOM_RETRY_MAX", "900000"), NULL, 10);
    s->attempts = (int)strtol(env_text("MAILROOM_ATTEMPTS", "8"), NULL, 10);
    s->in_flight = (int)strtol(env_text("MAILROOM_IN_FLIGHT", "4"), NULL, 10);
    s->budget_per_s = strtod(env_text("MAILROOM_BUDGET", "0"), NULL); // such as "40/s"
    s->burst = strtod(env_text("MAILROOM_BURST", "50"), NULL);
    // From ms to s, rounded up.
    s->ageing_s = (strtoll(env_text("MAILROOM_AGEING", "30000"), NULL, 10) + 999) / 1000;
}

bool settings_load(struct settings *s, struct err *e)
{
    int64_t healthcheck, timeout, limit, grace, rate;
    const char *dequeue = env_text("MAILROOM_DEQUEUE", "cursor");

    s->database_url = env_text("MAILROOM_DATABASE_URL", NULL);
    s->channel = env_text("MAILROOM_CHANNEL_NAME", "token_insert");
    s->queue = env_text("MAILROOM_QUEUE_NAME", "mailroom");
    if (!s->database_url)
        return err_set(e, ERR_USAGE, "MAILROOM_DATABASE_URL is not set");
    if (!env_number("MAILROOM_BATCH_TIMEOUT", 5000, 0, 86400000, &timeout, e) ||
        !env_number("MAILROOM_HEALTHCHECK_INTERVAL", 270000, 1, 86400000, &healthcheck, e) ||
        !env_number("MAILROOM_GRACE", 500, 0, 86400000, &grace, e) ||
        !env_number("ZOO_RATE", 0, 0, 1000000, &rate, e) ||
        !env_number("MAILROOM_BATCH_LIMIT", 10, 1, 100000, &limit, e) || !env_key(s->key, e))
        return false;
    if (healthcheck < timeout)
        return err_set(e, ERR_USAGE,
            "MAILROOM_HEALTHCHECK_INTERVAL is %lld, below MAILROOM_BATCH_TIMEOUT, %lld",
            (long long)healthcheck, (long long)timeout);
    s->shares = strcmp(dequeue, "shared") == 0;
    s->leases = strcmp(dequeue, "leased") == 0;
    if (!s->shares && !s->leases && strcmp(dequeue, "cursor") != 0)
        return err_set(
            e, ERR_USAGE, "MAILROOM_DEQUEUE is '%s', not cursor, shared or leased", dequeue);
    load_lease(s);
    s->grace_ns = grace * NS_PER_MS;
    s->healthcheck_ns = healthcheck * NS_PER_MS;
    s->timeout_ns = timeout * NS_PER_MS;
    s->limit = (int)limit;
    s->rate = rate;
    return true;
}

// Reads the variable `name` as a whole number from min to max; default_value when it is not set.
static bool env_number(
    const char *name, int64_t default_value, int64_t min, int64_t max, int64_t *out, struct err *e)
{
    const char *value = env_text(name, NULL);
    char *end;

    *out = default_value;
    if (!value)
        return true;
    errno = 0;
    *out = strtoll(value, &end, 10);
    if (errno || *end || *out < min || *out > max)
        return err_set(e, ERR_USAGE, "%s is '%s', not a whole number from %lld to %lld", name,
            value, (long long)min, (long long)max);
    return true;
}

// Reads the secret key: SETTINGS_KEY_LEN bytes, in hex.
static bool env_key(uint8_t *key, struct err *e)
{
    const char *hex = env_text("MAILROOM_SECRET_KEY", "");

    // The message must not show the key, because messages go to a log.
    if (strlen(hex) != (size_t)2 * SETTINGS_KEY_LEN ||
        strspn(hex, "0123456789abcdefABCDEF") != strlen(hex))
        return err_set(
            e, ERR_USAGE, "MAILROOM_SECRET_KEY is not %d hex digits", 2 * SETTINGS_KEY_LEN);
    for (size_t i = 0; i < SETTINGS_KEY_LEN; i++) {
        char pair[3] = {hex[2 * i], hex[2 * i + 1], '\0'};
        key[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
    return true;
}
