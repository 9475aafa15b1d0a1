#include "postgres/target.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/un.h>

#include "postgres/sql.h"

#define ADDRESS_WAIT_MS 500 // longest wait for an address that neither accepts nor refuses

const char *target_value(const struct target *t, const char *key)
{
    for (PQconninfoOption *o = t->options; o && o->keyword; o++) {
        if (strcmp(o->keyword, key) == 0)
            return o->val && *o->val ? o->val : NULL;
    }
    return NULL;
}

bool target_random(char *digits, size_t count, struct err *e)
{
    unsigned char bytes[TARGET_PASSWORD_LEN];

    assert(count <= sizeof bytes);
    if (getrandom(bytes, count, 0) != (ssize_t)count)
        return err_sys(e, ERR_SYSTEM, "cannot get random bytes");
    for (size_t i = 0; i < count; i++)
        digits[i] = "0123456789abcdef"[bytes[i] % 16];
    digits[count] = '\0';
    return true;
}

bool target_free_ports(int *ports, int count, struct err *e)
{
    int fds[TARGET_PORTS_MAX], found = 0;

    assert(count <= TARGET_PORTS_MAX);
    // Holds each port until all are found, so that they differ.
    for (; found < count; found++) {
        struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        socklen_t len = sizeof a;
        fds[found] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fds[found] < 0)
            break;
        if (bind(fds[found], (struct sockaddr *)&a, sizeof a) != 0 ||
            getsockname(fds[found], (struct sockaddr *)&a, &len) != 0) {
            close(fds[found]);
            break;
        }
        ports[found] = ntohs(a.sin_port);
    }
    bool ok = found == count || err_sys(e, ERR_SYSTEM, "cannot find a free port");
    while (found > 0)
        close(fds[--found]);
    return ok;
}

// Says what libpq does not accept in a conninfo, unless that would quote a value, such as a
// password.
static void refuse_target(const char *why, struct err *e)
{
    bool harmless = why && (strncmp(why, "invalid connection option", 25) == 0 ||
                               strncmp(why, "invalid URI query parameter", 27) == 0);

    err_set(e, ERR_USAGE,
        "--postgres takes local, container, patroni or a conninfo such as "
        "postgresql://me@host/postgres%s%.*s",
        harmless ? "; here: " : "", harmless ? (int)strcspn(why, "\n") : 0, harmless ? why : "");
}

bool target_init(struct target *t, const char *conninfo, struct err *e)
{
    char *why = NULL;
    // Begins to connect only to learn what libpq adds to the conninfo from the environment and from
    // a service or password file. The connection is dropped at once.
    PGconn *conn = NULL;

    *t = (struct target){0};
    PQconninfoOption *given = PQconninfoParse(conninfo, &why);
    if (!given)
        refuse_target(why, e);
    PQconninfoFree(given);
    PQfreemem(why);
    if (!given)
        return false;
    conn = PQconnectStart(conninfo);
    t->options = conn ? PQconninfo(conn) : NULL;
    t->user = target_value(t, "user");
    // libpq adds a user itself, unless it cannot read what it should add, such as a service.
    if (t->options && !t->user) {
        sql_fail(conn, NULL, "the conninfo names no user", e);
        e->kind = ERR_USAGE;
    }
    PQfinish(conn);
    if (!t->options)
        return err_memory(e);
    return t->user && target_random(t->password, TARGET_PASSWORD_LEN, e) &&
           target_random(t->unique, TARGET_UNIQUE_LEN, e);
}

void target_fini(struct target *t)
{
    PQconninfoFree(t->options);
    *t = (struct target){0};
}

// Appends "key='value'", quoted as libpq wants it.
static void append_pair(struct buf *out, const char *key, const char *value)
{
    buf_printf(out, "%s%s='", out->len ? " " : "", key);
    for (const char *c = value; *c; c++) {
        if (*c == '\'' || *c == '\\')
            buf_append_char(out, '\\');
        buf_append_char(out, *c);
    }
    buf_append_char(out, '\'');
}

bool target_conninfo(const struct target *t, const char *user, const char *dbname, struct buf *out)
{
    static const char *const left_out[] = {"user", "password", "dbname", "passfile", "service",
        "application_name", "fallback_application_name", "replication"};
    bool self = strcmp(user, t->user) == 0; // the conninfo's own user

    for (PQconninfoOption *o = t->options; o->keyword; o++) {
        // Role, password and database are set below, and libpq has read the files of service and
        // passfile into t->options already. Our clients name themselves, and none replicates.
        // Hosts, ports, TLS and the rest stay.
        bool stays = true;
        for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++)
            stays = stays && strcmp(left_out[i], o->keyword) != 0;
        if (stays && o->val && *o->val)
            append_pair(out, o->keyword, o->val);
    }
    append_pair(out, "user", user);
    append_pair(out, "dbname", dbname);
    const char *password = self ? target_value(t, "password") : t->password;
    if (password)
        append_pair(out, "password", password);
    return !out->failed;
}

// Copies the n-th part of a list with commas, counted from 0. False when the list has fewer parts.
// A NULL is a list of one empty part.
static bool copy_list_part(const char *list, size_t n, char *out, size_t size)
{
    const char *at = list ? list : "";
    bool several = strchr(at, ',') != NULL;

    for (size_t i = 0; several && i < n; i++) {
        at = strchr(at, ',');
        if (!at)
            return false;
        at++;
    }
    snprintf(out, size, "%.*s", (int)strcspn(at, ","), at);
    return several || n == 0;
}

bool target_one_of(
    const struct target *t, size_t n, const char *user, const char *dbname, struct buf *out)
{
    static const char *const lists[] = {"host", "hostaddr"};
    char part[256], port[16];

    if (!target_conninfo(t, user, dbname, out))
        return false;
    // Of two values for a key libpq takes the later one, so these replace the lists of all hosts.
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        if (!target_value(t, lists[i]))
            continue;
        if (!copy_list_part(target_value(t, lists[i]), n, part, sizeof part))
            return false;
        append_pair(out, lists[i], part);
    }
    bool listed = target_value(t, "host") || target_value(t, "hostaddr");
    const char *ports = target_value(t, "port");
    bool one_for_all = !ports || !strchr(ports, ',');
    if (copy_list_part(ports, one_for_all ? 0 : n, port, sizeof port) && *port)
        append_pair(out, "port", port);
    append_pair(out, "target_session_attrs", "any");
    // A conninfo that names no host leads to one server, number 0.
    return (listed || n == 0) && !out->failed;
}

bool target_socket_address(
    const char *dir, const char *port, struct sockaddr_storage *out, socklen_t *len, struct err *e)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    int used = snprintf(address.sun_path, sizeof address.sun_path, "%s/.s.PGSQL.%s", dir, port);
    if (used < 0 || used >= (int)sizeof address.sun_path)
        return err_set(e, ERR_USAGE, "the socket's path is too long");
    memcpy(out, &address, sizeof address);
    *len = sizeof address;
    return true;
}

// True when the address accepts a connection. libpq, too, tries the addresses of a name one after
// another.
static bool address_answers(const struct addrinfo *a)
{
    int fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct pollfd polled = {.fd = fd, .events = POLLOUT};
    int failure = 0;
    socklen_t len = sizeof failure;

    if (fd < 0)
        return false;
    bool ok = connect(fd, a->ai_addr, a->ai_addrlen) == 0 ||
              (errno == EINPROGRESS && poll(&polled, 1, ADDRESS_WAIT_MS) == 1 &&
                  getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &len) == 0 && failure == 0);
    close(fd);
    return ok;
}

bool target_address(
    const struct target *t, struct sockaddr_storage *out, socklen_t *len, struct err *e)
{
    const char *host =
        target_value(t, "hostaddr") ? target_value(t, "hostaddr") : target_value(t, "host");
    const char *port = target_value(t, "port") ? target_value(t, "port") : "5432";
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    char first[256], first_port[16];

    snprintf(first, sizeof first, "%.*s", host ? (int)strcspn(host, ",") : 0, host ? host : "");
    snprintf(first_port, sizeof first_port, "%.*s", (int)strcspn(port, ","), port);
    // Without a host, libpq connects to the default socket, which is here in Debian's packages.
    if (!*first)
        snprintf(first, sizeof first, "/var/run/postgresql");
    if (*first == '/')
        return target_socket_address(first, first_port, out, len, e) || err_prefix(e, "--postgres");
    int failed = getaddrinfo(first, first_port, &hints, &found);
    if (failed)
        return err_set(e, ERR_CONNECTION, "%s: %s", first, gai_strerror(failed));
    // The last address is taken without a trial, because there is no other.
    struct addrinfo *one = found;
    while (one->ai_next && !address_answers(one))
        one = one->ai_next;
    memcpy(out, one->ai_addr, one->ai_addrlen);
    *len = one->ai_addrlen;
    freeaddrinfo(found);
    return true;
}
