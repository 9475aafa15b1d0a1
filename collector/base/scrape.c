#include "base/scrape.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/openmetrics.h"

#define CLIENT_LIMIT_NS (5 * NS_PER_S) // from a client's connection to the last byte of its answer
#define ACCEPT_PAUSE_NS                                                                            \
    (NS_PER_S / 10) // the pause before the next accept after descriptors ran out
#define QUEUE_LEN (2 * SCRAPE_CLIENTS)
#define ANSWER_MAX (((size_t)4 << 20) + 1000) // most bytes of an answer: the text, and its header
#define ADDRESS_MAX 256

// --- listening --------------------------------------------------------------------------

// Makes a socket non-blocking, and closes it on exec.
static bool make_nonblocking(int fd)
{
    int flags = fcntl(fd, F_GETFL);

    return flags != -1 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0 &&
           fcntl(fd, F_SETFD, FD_CLOEXEC) == 0;
}

// Returns the socket that listens; -1 on failure.
static int listen_at(const struct sockaddr *at, socklen_t len, const char *address, struct err *e)
{
    int on = 1, fd = socket(at->sa_family, SOCK_STREAM, 0);

    if (fd >= 0 && make_nonblocking(fd) &&
        (at->sa_family == AF_UNIX ||
            setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0) &&
        bind(fd, at, len) == 0 && listen(fd, QUEUE_LEN) == 0)
        return fd;
    err_sys(e, ERR_USAGE, "cannot listen at '%s'", address);
    if (fd >= 0)
        close(fd);
    return -1;
}

// Removes the socket that a killed server has left at this path. Fails if there is anything else,
// such as a socket that is still served.
static bool remove_old_socket(const struct sockaddr_un *at, struct err *e)
{
    struct stat st;

    if (lstat(at->sun_path, &st) != 0)
        return true;
    if (!S_ISSOCK(st.st_mode))
        return err_set(e, ERR_USAGE, "'%s' exists and is not a socket", at->sun_path);
    // The socket does not block: connecting to a server that hangs might otherwise take for ever.
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    bool served = fd < 0 || !make_nonblocking(fd) ||
                  connect(fd, (const struct sockaddr *)at, sizeof *at) == 0 ||
                  errno != ECONNREFUSED;
    if (fd >= 0)
        close(fd);
    if (served)
        return err_set(e, ERR_USAGE, "'%s' is in use by another process", at->sun_path);
    return unlink(at->sun_path) == 0 ||
           err_sys(e, ERR_USAGE, "the old socket '%s' cannot be removed", at->sun_path);
}

int scrape_listen_path(const char *path, struct err *e)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};

    if (strlen(path) >= sizeof at.sun_path) {
        err_set(e, ERR_USAGE, "'%s' is too long; a socket's path has at most %zu bytes", path,
            sizeof at.sun_path - 1);
        return -1;
    }
    snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
    return remove_old_socket(&at, e) ? listen_at((struct sockaddr *)&at, sizeof at, path, e) : -1;
}

static bool listen_on_path(struct scrape *s, const char *path, struct err *e)
{
    s->fd = scrape_listen_path(path, e);
    if (s->fd >= 0)
        snprintf(s->path, sizeof s->path, "%s", path);
    return s->fd >= 0;
}

// Splits HOST:PORT in place, and drops the brackets around an IPv6 host. False: the address has
// another form.
static bool split_address(char *address, char **host, char **port)
{
    char *colon = strrchr(address, ':');

    if (!colon || colon == address || !colon[1] || strspn(colon + 1, "0123456789") > 5 ||
        colon[1 + strspn(colon + 1, "0123456789")])
        return false;
    *colon = '\0';
    *host = address;
    *port = colon + 1;
    if (*address == '[' && colon[-1] == ']') {
        colon[-1] = '\0';
        (*host)++;
        return **host;
    }
    return !strchr(address, ':');
}

// Listens at an address with a port: HOST:PORT or [IPV6]:PORT.
static bool listen_on_port(struct scrape *s, const char *address, struct err *e)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found = NULL;
    char copy[ADDRESS_MAX], *host, *port;

    if (strlen(address) >= sizeof copy)
        return err_set(e, ERR_USAGE, "the address has more than %zu bytes", sizeof copy - 1);
    snprintf(copy, sizeof copy, "%s", address);
    // glibc's getaddrinfo accepts a larger port, but cuts off its upper bits.
    if (!split_address(copy, &host, &port) || strtol(port, NULL, 10) > 65535)
        return err_set(e, ERR_USAGE,
            "'%s' is not an address; it must be HOST:PORT, [IPV6]:PORT or the path of a Unix "
            "socket, which begins with '/'",
            address);
    int why = getaddrinfo(host, port, &hints, &found);
    if (why != 0)
        return err_set(e, ERR_USAGE, "'%s' is not found: %s", address, gai_strerror(why));
    // We have one socket to listen with, so only the first address is used.
    s->fd = listen_at(found->ai_addr, found->ai_addrlen, address, e);
    freeaddrinfo(found);
    return s->fd >= 0;
}

bool scrape_open(struct scrape *s, const char *address, struct err *e)
{
    *s = (struct scrape)SCRAPE_INIT;
    for (int i = 0; i < SCRAPE_CLIENTS; i++)
        buf_init(&s->clients[i].answer, ANSWER_MAX);
    return *address == '/' ? listen_on_path(s, address, e) : listen_on_port(s, address, e);
}

const char *scrape_place(const struct scrape *s, char place[SCRAPE_PLACE_MAX])
{
    struct sockaddr_storage at = {0};
    socklen_t len = sizeof at;
    char host[200], port[10]; // in numbers, which are shorter than names

    if (*s->path)
        snprintf(place, SCRAPE_PLACE_MAX, "the socket %s", s->path);
    else if (getsockname(s->fd, (struct sockaddr *)&at, &len) == 0 &&
             getnameinfo((struct sockaddr *)&at, len, host, sizeof host, port, sizeof port,
                 NI_NUMERICHOST | NI_NUMERICSERV) == 0)
        snprintf(place, SCRAPE_PLACE_MAX,
            at.ss_family == AF_INET6 ? "http://[%s]:%s/metrics" : "http://%s:%s/metrics", host,
            port);
    else
        snprintf(place, SCRAPE_PLACE_MAX, "an address that is not known");
    return place;
}

// --- one client -------------------------------------------------------------------------

// Closes the connection, frees the memory of its answer, and makes the place free.
static void end_client(struct scrape_client *c)
{
    close(c->fd);
    buf_fini(&c->answer);
    buf_init(&c->answer, ANSWER_MAX);
    c->step = SCRAPE_FREE;
}

int scrape_judge(const char *request, size_t len)
{
    static const char target[] = "/metrics";
    const char *line_end = memchr(request, '\n', len);
    char line[256];

    // The whole header is read first, even when it begins badly. A client whose bytes were not all
    // read when its connection is closed may see a reset instead of the answer.
    if (!memmem(request, len, "\r\n\r\n", 4))
        return len >= SCRAPE_REQUEST_MAX ? 400 : 0;
    size_t line_len = (size_t)(line_end - request) - 1;
    // A zero byte would end the string, and hide from the checks what comes after it.
    if (line_len >= sizeof line || request[line_len] != '\r' || memchr(request, '\0', line_len) ||
        memchr(request, '\r', line_len))
        return 400;
    memcpy(line, request, line_len);
    line[line_len] = '\0';
    char *path = strchr(line, ' ');
    char *version = path ? strchr(path + 1, ' ') : NULL;
    if (!version || path == line || strchr(version + 1, ' '))
        return 400;
    *path++ = *version++ = '\0';
    if (strncmp(version, "HTTP/", 5) != 0)
        return 400;
    if (strcmp(version, "HTTP/1.1") != 0 && strcmp(version, "HTTP/1.0") != 0)
        return 505;
    // A scraper may be configured to send parameters, which are ignored here.
    size_t path_len = strcspn(path, "?");
    if (path_len != sizeof target - 1 || memcmp(path, target, path_len) != 0)
        return 404;
    return strcmp(line, "GET") == 0 ? 200 : 405;
}

static const char *reason_phrase(int status)
{
    switch (status) {
    case 200:
        return "OK";
    case 404:
        return "Not Found";
    case 405:
        return "Method Not Allowed";
    case 503:
        return "Service Unavailable";
    case 505:
        return "HTTP Version Not Supported";
    default:
        return "Bad Request";
    }
}

// Makes the answer: the text for status 200, and else one sentence.
static void begin_answer(struct scrape_client *c, int status, const char *text, size_t len)
{
    bool fine = status == 200;

    if (!fine) {
        text = "this serves GET /metrics\n";
        len = strlen(text);
    }
    buf_clear(&c->answer);
    buf_printf(&c->answer,
        "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%sConnection: close\r\n\r\n",
        status, reason_phrase(status),
        fine ? OPENMETRICS_CONTENT_TYPE : "text/plain; charset=utf-8", len,
        status == 405 ? "Allow: GET\r\n" : "");
    buf_append(&c->answer, text, len);
    c->sent = 0;
    c->step = SCRAPE_WRITING;
    // Without memory for the answer the scraper sees a closed connection, and counts a failure.
    if (c->answer.failed)
        end_client(c);
}

// Reads what has come of the request. When all of it is there, the client waits for the text, or
// gets an error as its answer.
static void read_request(struct scrape_client *c)
{
    while (c->step == SCRAPE_READING) {
        ssize_t n = recv(c->fd, c->request + c->len, sizeof c->request - c->len, MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return;
        // The client has hung up, or the connection is broken: nobody is left to answer.
        if (n <= 0) {
            end_client(c);
            return;
        }
        c->len += (size_t)n;
        // Bytes after the request are ignored, because the answer ends the connection.
        int status = scrape_judge(c->request, c->len);
        if (status == 200)
            c->step = SCRAPE_WAITING;
        else if (status != 0)
            begin_answer(c, status, NULL, 0);
    }
}

// Writes what the socket takes of the answer, and closes the connection after its last byte.
static void write_answer(struct scrape_client *c)
{
    while (c->step == SCRAPE_WRITING) {
        size_t left = c->answer.len - c->sent;
        ssize_t n = send(c->fd, c->answer.data + c->sent, left, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return;
        if (n < 0 || (size_t)n == left)
            end_client(c);
        else
            c->sent += (size_t)n;
    }
}

static bool hung_up(const struct scrape_client *c)
{
    struct pollfd p = {.fd = c->fd}; // without events, poll reports only a hang-up or an error

    return poll(&p, 1, 0) > 0;
}

// Goes on with a client as far as that is possible without waiting, or ends it at its deadline.
static void serve_client(struct scrape_client *c, int64_t now_ns)
{
    if (c->step != SCRAPE_FREE && now_ns >= c->deadline_ns)
        end_client(c);
    if (c->step == SCRAPE_READING)
        read_request(c);
    if (c->step == SCRAPE_WAITING && hung_up(c))
        end_client(c);
    if (c->step == SCRAPE_WRITING)
        write_answer(c);
}

// --- all clients ------------------------------------------------------------------------

// Returns the place for a new client, as an index: a free one or, if there is none, that of the
// client whose request has been awaited for longest. A scraper sends its request at once, so that
// client is hardly a scraper, and may be dropped. -1: no request is awaited, so no client may be
// dropped.
static int find_place(const struct scrape *s)
{
    int oldest = -1;

    for (int i = 0; i < SCRAPE_CLIENTS; i++) {
        const struct scrape_client *c = &s->clients[i];
        if (c->step == SCRAPE_FREE)
            return i;
        if (c->step == SCRAPE_READING &&
            (oldest < 0 || c->deadline_ns < s->clients[oldest].deadline_ns))
            oldest = i;
    }
    return oldest;
}

// Accepts the clients that wait, at most as many as the kernel's queue holds. When descriptors have
// run out, nobody is accepted for ACCEPT_PAUSE_NS: the next client stays in the kernel's queue, and
// poll would report it again and again.
static void accept_scrapers(struct scrape *s, int64_t now_ns)
{
    int place;

    if (now_ns < s->accept_at_ns)
        return;
    s->accept_at_ns = 0;
    for (int n = 0; n < QUEUE_LEN && (place = find_place(s)) >= 0; n++) {
        struct scrape_client *c = &s->clients[place];
        int fd = accept(s->fd, NULL, NULL);
        if (fd < 0) {
            if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
                s->accept_at_ns = now_ns + ACCEPT_PAUSE_NS;
            return;
        }
        if (!make_nonblocking(fd)) {
            close(fd);
            return;
        }
        if (c->step != SCRAPE_FREE)
            end_client(c);
        c->fd = fd;
        c->len = 0;
        c->deadline_ns = now_ns + CLIENT_LIMIT_NS;
        c->step = SCRAPE_READING;
        read_request(c);
    }
}

bool scrape_serve(struct scrape *s, int64_t now_ns)
{
    bool waits = false;

    if (s->fd < 0)
        return false;
    for (int i = 0; i < SCRAPE_CLIENTS; i++)
        serve_client(&s->clients[i], now_ns);
    accept_scrapers(s, now_ns);
    for (int i = 0; i < SCRAPE_CLIENTS; i++)
        waits = waits || s->clients[i].step == SCRAPE_WAITING;
    return waits;
}

void scrape_answer(struct scrape *s, const char *text, size_t len)
{
    for (int i = 0; i < SCRAPE_CLIENTS; i++) {
        struct scrape_client *c = &s->clients[i];
        if (c->step != SCRAPE_WAITING)
            continue;
        begin_answer(c, text ? 200 : 503, text, len);
        write_answer(c);
    }
}

void scrape_poll(const struct scrape *s, struct pollfd fds[SCRAPE_FDS])
{
    for (int i = 0; i < SCRAPE_CLIENTS; i++) {
        const struct scrape_client *c = &s->clients[i];
        fds[i + 1] = (struct pollfd){.fd = c->step == SCRAPE_FREE ? -1 : c->fd,
            .events = (short)(c->step == SCRAPE_READING   ? POLLIN
                              : c->step == SCRAPE_WRITING ? POLLOUT
                                                          : 0)};
    }
    fds[0] = (struct pollfd){
        .fd = find_place(s) >= 0 && !s->accept_at_ns ? s->fd : -1, .events = POLLIN};
}

int64_t scrape_deadline_ns(const struct scrape *s)
{
    int64_t at_ns = s->accept_at_ns ? s->accept_at_ns : CLOCK_NEVER;

    for (int i = 0; i < SCRAPE_CLIENTS; i++)
        if (s->clients[i].step != SCRAPE_FREE)
            at_ns = clock_min(at_ns, s->clients[i].deadline_ns);
    return at_ns;
}

void scrape_close(struct scrape *s)
{
    for (int i = 0; i < SCRAPE_CLIENTS; i++) {
        if (s->clients[i].step != SCRAPE_FREE)
            end_client(&s->clients[i]);
        buf_fini(&s->clients[i].answer);
    }
    if (s->fd >= 0)
        close(s->fd);
    if (*s->path)
        unlink(s->path);
    *s = (struct scrape)SCRAPE_INIT;
}
