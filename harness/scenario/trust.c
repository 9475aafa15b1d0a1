// Refuses what a scenario of somebody else may not name.
//
// A scenario names commands, settings and files, so its author could do what the user may. The
// lists here say what is allowed, and not what is dangerous: a setting that a later PostgreSQL adds
// is refused until somebody has looked at it. Only what the file itself says is checked. A value
// that an option gives is the user's own.
#include "scenario/rules.h"

#include <sys/stat.h>

#include "base/utf8.h"
#include "os/paths.h"

// The longest text that a refusal quotes, in bytes, and the size of its buffer: the last character
// may be up to 3 bytes longer, and "…" and a NUL follow it.
enum { SHOWN_MAX = 160, SHOWN_SIZE = SHOWN_MAX + 3 + sizeof "…" };

// Variables of the collector that hold a number or a word. Others name programs, files or
// addresses, or are read by the loader, a shell or an interpreter before the collector begins.
static const char *const plain_variables[] = {"MAILROOM_AGEING", "MAILROOM_ANSWER_TIMEOUT",
    "MAILROOM_ATTEMPTS", "MAILROOM_BATCH_LIMIT", "MAILROOM_BATCH_TIMEOUT", "MAILROOM_BUDGET",
    "MAILROOM_BURST", "MAILROOM_CHANNEL_NAME", "MAILROOM_DEQUEUE", "MAILROOM_GRACE",
    "MAILROOM_HEALTHCHECK_INTERVAL", "MAILROOM_IN_FLIGHT", "MAILROOM_LANES", "MAILROOM_LEASE",
    "MAILROOM_QUEUE_NAME", "MAILROOM_RETRY_BASE", "MAILROOM_RETRY_MAX", NULL};

// Settings of the server that hold a number or a word, and open nothing to anybody.
static const char *const plain_settings[] = {"autovacuum", "autovacuum_naptime",
    "autovacuum_vacuum_cost_delay", "autovacuum_vacuum_cost_limit",
    "autovacuum_vacuum_scale_factor", "autovacuum_vacuum_threshold", "backend_flush_after",
    "bgwriter_delay", "bgwriter_flush_after", "bgwriter_lru_maxpages", "bgwriter_lru_multiplier",
    "checkpoint_completion_target", "checkpoint_flush_after", "checkpoint_timeout",
    "client_connection_check_interval", "commit_delay", "commit_siblings", "deadlock_timeout",
    "default_transaction_isolation", "effective_cache_size", "effective_io_concurrency", "fsync",
    "full_page_writes", "hot_standby_feedback", "huge_pages", "idle_in_transaction_session_timeout",
    "idle_session_timeout", "jit", "lock_timeout", "maintenance_work_mem", "max_connections",
    "max_locks_per_transaction", "max_notify_queue_pages", "max_parallel_workers",
    "max_parallel_workers_per_gather", "max_prepared_transactions", "max_wal_size",
    "max_worker_processes", "min_wal_size", "random_page_cost", "shared_buffers",
    "statement_timeout", "synchronous_commit", "tcp_keepalives_count", "tcp_keepalives_idle",
    "tcp_keepalives_interval", "tcp_user_timeout", "temp_buffers", "transaction_timeout",
    "vacuum_cost_delay", "vacuum_cost_limit", "wal_buffers", "wal_compression", "wal_level",
    "wal_writer_delay", "wal_writer_flush_after", "work_mem", NULL};

struct inspection {
    const struct scenario *s;
    const struct node *postgres, *collector; // NULL: the file has none
    const struct overrides *sets;
    struct err *e;
};

// Copies somebody else's text for a message, at most SHOWN_MAX bytes, with '?' for characters that
// a terminal might act on. Returns `out`.
static const char *shown_text(char out[SHOWN_SIZE], const char *text)
{
    size_t len = 0;
    uint32_t c;

    while (*text && len < SHOWN_MAX) {
        const char *start = text;
        if (!utf8_next(&text, &c))
            break;
        if (utf8_prints(c)) {
            memcpy(out + len, start, (size_t)(text - start));
            len += (size_t)(text - start);
        } else {
            out[len++] = '?';
        }
    }
    snprintf(out + len, SHOWN_SIZE - len, "%s", *text ? "…" : "");
    return out;
}

// Returns the node of this key if the file itself gives the value; NULL if an option or the default
// gives it.
static const struct node *file_node(const struct node *map, const char *key)
{
    const struct node *n = node_child(map, key);

    return n && !n->origin.set ? n : NULL;
}

// Fails at this node with an error such as "it runs 'id'", and says how the user can allow it.
static bool refuse_item(
    const struct inspection *x, const struct node *at, const char *doing, const char *what)
{
    char shown[SHOWN_SIZE];
    const char *why =
        x->sets->trust == TRUST_OWN
            ? "; no run of yours on this machine wrote this file: read it, then allow it by --trust"
            : ", which --untrusted refuses";

    return node_err(at, x->e, "%s '%s'%s", doing, shown_text(shown, what), why);
}

static bool is_one_of(const char *const *names, const char *name)
{
    while (*names && strcmp(*names, name) != 0)
        names++;
    return *names;
}

static bool check_named_command(const struct inspection *x)
{
    const struct node *command = file_node(x->collector, "command");
    char line[2 * SHOWN_MAX] = "";
    size_t len = 0;

    // With --collector, the scenario's own command is not run.
    if (!command || !x->s->collector.command || x->sets->collector)
        return true;
    for (char **arg = x->s->collector.command; *arg && len < sizeof line; arg++)
        len += (size_t)snprintf(line + len, sizeof line - len, "%s%s", len ? " " : "", *arg);
    return refuse_item(x, command, "it runs", line);
}

static bool check_subject(const struct inspection *x)
{
    const struct node *subject = file_node(x->collector, "subject");
    const char *name = x->s->collector.subject;

    // A name means a subject that comes with mailproof; a path could lead to any program.
    return !subject || !name || (!strchr(name, '/') && name[0] != '.') ||
           refuse_item(x, subject, "it runs the subject in", name);
}

static bool check_env(const struct inspection *x)
{
    const struct node *env = node_child(x->collector, "env");

    for (size_t i = 0; i < x->s->collector.env.count; i++) {
        const struct setting *v = &x->s->collector.env.items[i];
        const struct node *at = file_node(env, v->name);
        if (at && !is_one_of(plain_variables, v->name))
            return refuse_item(x, at, "it gives the collector", v->value);
    }
    return true;
}

// Refuses settings of the server that are not listed, or whose value has a character that could
// begin a path, a command or another setting.
static bool check_settings(const struct inspection *x)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+- ";
    const struct node *settings = node_child(x->postgres, "settings");

    for (size_t i = 0; i < x->s->postgres.settings.count; i++) {
        const struct setting *v = &x->s->postgres.settings.items[i];
        const struct node *at = file_node(settings, v->name);
        if (at && (!is_one_of(plain_settings, v->name) || v->value[strspn(v->value, plain)]))
            return refuse_item(x, at, "it sets", v->value);
    }
    return true;
}

// True for the official image of any major version, because the scenario of an older result names
// the version that was the default then.
static bool is_official(const char *image)
{
    static const char name[] = "postgres:";
    const char *major = image + sizeof name - 1;

    return strncmp(image, name, sizeof name - 1) == 0 && *major &&
           major[strspn(major, "0123456789")] == '\0';
}

// Checks the container's image and the addresses of a cluster.
static bool check_server(const struct inspection *x)
{
    const struct node *image = file_node(x->postgres, "image"),
                      *rest = file_node(x->postgres, "rest");

    if (image && !is_official(x->s->postgres.image))
        return refuse_item(x, image, "it runs the image", x->s->postgres.image);
    return !rest || !x->s->postgres.rest ||
           refuse_item(x, rest, "it sends requests to", x->s->postgres.rest);
}

// True when the file is a regular file in the scenario's own folder, and not a link. Also true when
// there is no such file: opening it then fails with an error that says so.
static bool is_beside(const char *file, const char *scenario_path)
{
    char path[PATH_MAX];
    struct stat st;

    return !strchr(file, '/') && path_beside(path, scenario_path, file) &&
           (lstat(path, &st) != 0 || S_ISREG(st.st_mode));
}

static bool check_files(const struct inspection *x, const struct node *root)
{
    const struct node *load = node_child(root, "load");

    for (size_t i = 0; i < x->s->load_count; i++) {
        const struct node *phase = node_item(load, i), *file = file_node(phase, "file");
        if (!file || !x->s->load[i].file || is_beside(x->s->load[i].file, file->origin.file))
            continue;
        return x->sets->trust == TRUST_BESIDE
                   ? node_err(file, x->e,
                         "a scenario of somebody else may only name a file in its own folder")
                   : refuse_item(
                         x, file, "it reads a file outside of its own folder,", x->s->load[i].file);
    }
    return true;
}

bool trust_check(
    const struct scenario *s, const struct node *root, const struct overrides *sets, struct err *e)
{
    const struct inspection x = {.s = s,
        .postgres = node_child(root, "postgres"),
        .collector = node_child(root, "collector"),
        .sets = sets,
        .e = e};

    if (sets->trust == TRUST_ALL)
        return true;
    // TRUST_BESIDE is for a worker, which runs nothing that the scenario names: it only sends the
    // load.
    if (sets->trust == TRUST_BESIDE)
        return check_files(&x, root);
    return check_named_command(&x) && check_subject(&x) && check_env(&x) && check_settings(&x) &&
           check_server(&x) && check_files(&x, root);
}
