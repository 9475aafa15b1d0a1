#include "postgres/provider.h"

#include <fcntl.h>
#include <sys/stat.h>

bool provider_conninfo(
    const struct server *s, const char *role, const char *dbname, struct buf *out, struct err *e)
{
    return (s->provider->conninfo(s, role, dbname, out) && buf_str(out)) ||
           err_set(e, ERR_INTERNAL, "the conninfo is too long");
}

PGconn *provider_connect(
    const struct server *s, const char *role, const char *dbname, struct err *e)
{
    struct buf conninfo FREED_BY(buf_fini) = BUF_INIT(4096);

    return provider_conninfo(s, role, dbname, &conninfo, e) ? sql_connect(conninfo.data, e) : NULL;
}

bool provider_handshake(struct server *s, struct err *e)
{
    PGconn *conn FREED_BY(sql_finish) = provider_connect(s, s->superuser, "postgres", e);

    if (conn)
        s->version = PQserverVersion(conn);
    return conn != NULL;
}

void provider_fetch_log(struct server *s)
{
    if (s->provider->fetch_log)
        s->provider->fetch_log(s);
}

void provider_log_tail(const struct server *s, char *text, size_t size)
{
    int fd = s->log_path ? open(s->log_path, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t got = 0;

    if (fd >= 0) {
        off_t end = lseek(fd, 0, SEEK_END);
        off_t from = end > (off_t)size - 1 ? end - ((off_t)size - 1) : 0;
        got = pread(fd, text, size - 1, from);
        close(fd);
    }
    // The text becomes part of an error, and an error is one line.
    while (got > 0 && text[got - 1] == '\n')
        got--;
    text[got > 0 ? got : 0] = '\0';
    for (char *c = text; *c; c++) {
        if (*c == '\n')
            *c = ' ';
    }
}

long provider_log_length(const struct server *s)
{
    struct stat st;

    return s->log_path && stat(s->log_path, &st) == 0 ? (long)st.st_size : 0;
}

static struct setting every_server[PROVIDER_SETTINGS] = {
    {"fsync", "on"},
    {"full_page_writes", "on"},
    {"max_connections", "200"},
    {"max_prepared_transactions", "10"},
    {"log_connections", "on"},
    {"log_line_prefix", "%m [%p] %u "},
    {"timezone", "UTC"},
    {"log_timezone", "UTC"},
};
const struct settings provider_settings = {every_server, PROVIDER_SETTINGS};

void provider_add_settings(const struct settings *settings, char (*texts)[SERVER_SETTING_SIZE],
    const char **argv, size_t n)
{
    const size_t count = PROVIDER_SETTINGS + settings->count;

    for (size_t i = 0; i < count; i++) {
        const struct setting *one =
            i < PROVIDER_SETTINGS ? &every_server[i] : &settings->items[i - PROVIDER_SETTINGS];
        snprintf(texts[i], sizeof texts[i], "%s=%s", one->name, one->value);
        argv[n++] = "-c";
        argv[n++] = texts[i];
    }
    argv[n] = NULL;
}

const struct provider *provider_find(const struct scenario_postgres *want)
{
    static const struct provider *const all[] = {
        &provider_local, &provider_container, &provider_url, &provider_patroni};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (strcmp(all[i]->name, want->provider) == 0)
            return all[i] == &provider_url && want->rest ? &provider_cluster : all[i];
    }
    return NULL;
}

bool provider_suits(const struct provider *p, const struct scenario_postgres *want, struct err *e)
{
    if (want->standby != STANDBY_NONE && !p->promote && !p->strike)
        return err_set(e, ERR_SKIP,
            "postgres.standby needs provider: local or patroni, which %s is not, or postgres.rest "
            "for a cluster of yours",
            p->name);
    if (want->route == ROUTE_PROXY && !p->strike)
        return err_set(
            e, ERR_SKIP, "postgres.route: proxy needs provider: patroni, which %s is not", p->name);
    if (want->storage == STORAGE_CRASHABLE && p != &provider_local)
        return err_set(e, ERR_SKIP,
            "postgres.storage: crashable needs provider: local, which %s is not", p->name);
    return true;
}
