#include "postgres/cluster/rest.h"

#include <jansson.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include "os/cluster_net.h"

static const int64_t answer_limit_ns = 30 * NS_PER_S;

// --- over the wire ------------------------------------------------------------------

// Waits until the socket is ready for these events of poll(2), or until the deadline of the whole
// exchange.
static bool wait_socket(int fd, short events, int64_t deadline_ns, struct err *e)
{
    struct pollfd p = {.fd = fd, .events = events};
    int ready;

    do
        ready = poll(&p, 1, clock_poll_ms(clock_now_ns(), deadline_ns));
    while (ready < 0 && errno == EINTR);
    return ready > 0 || err_set(e, ERR_CONNECTION, "no answer within 30 s");
}

// Connects the socket before the deadline.
static bool connect_rest(int fd, const struct rest_target *t, int64_t deadline_ns, struct err *e)
{
    const struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    char port[16];
    int failed = 0;
    socklen_t len = sizeof failed;

    snprintf(port, sizeof port, "%d", t->port);
    int why = getaddrinfo(t->host, port, &hints, &found);
    if (why)
        return err_set(e, ERR_CONNECTION, "%s", gai_strerror(why));
    int got = connect(fd, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    if (got != 0 && errno != EINPROGRESS)
        return err_sys(e, ERR_CONNECTION, "cannot connect");
    // The socket is non-blocking, because a connect to a member that is cut off could block for
    // minutes.
    if (!wait_socket(fd, POLLOUT, deadline_ns, e))
        return false;
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &failed, &len);
    errno = failed;
    return failed == 0 || err_sys(e, ERR_CONNECTION, "cannot connect");
}

static bool send_all(int fd, const struct buf *request, int64_t deadline_ns, struct err *e)
{
    for (size_t sent = 0; sent < request->len;) {
        ssize_t n = send(fd, request->data + sent, request->len - sent, MSG_NOSIGNAL);
        if (n > 0)
            sent += (size_t)n;
        else if (n < 0 && errno != EAGAIN && errno != EINTR)
            return err_sys(e, ERR_CONNECTION, "cannot send");
        else if (!wait_socket(fd, POLLOUT, deadline_ns, e))
            return false;
    }
    return true;
}

// Reads until the other side closes the connection, as it does in HTTP/1.0 after the answer.
static bool read_rest_answer(int fd, struct buf *wire, int64_t deadline_ns, struct err *e)
{
    char piece[4096];

    for (;;) {
        ssize_t n = recv(fd, piece, sizeof piece, 0);
        if (n == 0)
            return true;
        if (n > 0 && !buf_append(wire, piece, (size_t)n))
            return err_set(e, ERR_CONNECTION, "the answer is too long");
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return err_sys(e, ERR_CONNECTION, "cannot read");
        if (n < 0 && !wait_socket(fd, POLLIN, deadline_ns, e))
            return false;
    }
}

// Appends base64 as in RFC 4648, section 4.
static void append_base64(struct buf *out, const char *text)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t len = strlen(text);

    for (size_t i = 0; i < len; i += 3) {
        unsigned long n = (unsigned long)(unsigned char)text[i] << 16;
        n |= i + 1 < len ? (unsigned long)(unsigned char)text[i + 1] << 8 : 0;
        n |= i + 2 < len ? (unsigned long)(unsigned char)text[i + 2] : 0;
        // Digit k > 0 needs byte k - 1 of these three; without that byte it is padding.
        for (size_t k = 0; k < 4; k++)
            buf_append_char(out, i + k > len ? '=' : digits[n >> (18 - 6 * k) & 63]);
    }
}

// Appends the whole request. HTTP/1.0, so that the other side ends its answer by closing the
// connection.
static bool write_request(const struct rest_target *t, const char *method, const char *path,
    const char *body, struct buf *out, struct err *e)
{
    char both[200];

    buf_printf(out, "%s %s HTTP/1.0\r\nHost: %s:%d\r\n", method, path, t->host, t->port);
    if (t->user) {
        snprintf(both, sizeof both, "%s:%s", t->user, t->password);
        buf_printf(out, "Authorization: Basic ");
        append_base64(out, both);
        buf_printf(out, "\r\n");
    }
    if (body)
        buf_printf(out, "Content-Type: application/json\r\nContent-Length: %zu\r\n", strlen(body));
    return buf_printf(out, "\r\n%s", body ? body : "") ||
           err_set(e, ERR_INTERNAL, "the request is too long");
}

static bool exchange_rest(
    int fd, const struct rest_target *t, const struct buf *request, struct buf *wire, struct err *e)
{
    int64_t deadline_ns = clock_now_ns() + answer_limit_ns;

    return connect_rest(fd, t, deadline_ns, e) && send_all(fd, request, deadline_ns, e) &&
           read_rest_answer(fd, wire, deadline_ns, e);
}

bool rest_ask(const struct rest_target *t, const char *method, const char *path, const char *body,
    struct rest_answer *out, struct err *e)
{
    struct buf request, wire;
    int fd = cluster_net_socket(t->net, e);

    buf_init(&request, 8192);
    buf_init(&wire, sizeof out->text + 8192);
    bool ok = fd >= 0 && write_request(t, method, path, body, &request, e) &&
              exchange_rest(fd, t, &request, &wire, e) && rest_parse(wire.data, wire.len, out, e);
    if (fd >= 0)
        close(fd);
    buf_fini(&request);
    buf_fini(&wire);
    return ok || err_prefix(e, "%s http://%s:%d%s", method, t->host, t->port, path);
}

// --- reading an answer --------------------------------------------------------------

bool rest_parse(const char *wire, size_t len, struct rest_answer *out, struct err *e)
{
    const char *end = wire ? memmem(wire, len, "\r\n\r\n", 4) : NULL;
    char line[64] = "";

    if (wire)
        snprintf(line, sizeof line, "%.*s", (int)(len < sizeof line ? len : sizeof line - 1), wire);
    if (!end || sscanf(line, "HTTP/1.%*1[01] %3d ", &out->status) != 1)
        return err_set(e, ERR_CONNECTION, "the answer is not HTTP");
    size_t used = (size_t)(end + 4 - wire);
    if (len - used >= sizeof out->text)
        return err_set(e, ERR_CONNECTION, "the answer is too long");
    memcpy(out->text, wire + used, len - used);
    out->text[len - used] = '\0';
    return true;
}

// Reads one member of the list. False when a field is missing that every member has.
static bool parse_rest_member(const json_t *item, struct rest_member *m)
{
    const char *name, *role, *state, *host = "";

    *m = (struct rest_member){0};
    if (json_unpack((json_t *)item, "{s:s, s:s, s:s, s?s, s?i, s?i}", "name", &name, "role", &role,
            "state", &state, "host", &host, "port", &m->port, "timeline", &m->timeline) != 0)
        return false;
    snprintf(m->name, sizeof m->name, "%s", name);
    snprintf(m->role, sizeof m->role, "%s", role);
    snprintf(m->state, sizeof m->state, "%s", state);
    snprintf(m->host, sizeof m->host, "%s", host);
    return true;
}

bool rest_members(const char *json, struct rest_member *members, size_t *count, struct err *e)
{
    json_error_t why;
    json_t *root = json_loads(json, 0, &why);
    const json_t *list = json_object_get(root, "members");
    bool ok = json_is_array(list);

    *count = 0;
    for (size_t i = 0; ok && i < json_array_size(list) && *count < REST_MEMBERS_MAX; i++)
        ok = parse_rest_member(json_array_get(list, i), &members[(*count)++]);
    json_decref(root);
    return ok ||
           err_set(e, ERR_CONNECTION, "this is not a list of a cluster's members: %.60s", json);
}

const struct rest_member *rest_leader(const struct rest_member *members, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(members[i].role, "leader") == 0 && strcmp(members[i].state, "running") == 0)
            return &members[i];
    }
    return NULL;
}
