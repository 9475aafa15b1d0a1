#include "load/post.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

void post_init(struct post *p, int fd)
{
    const unsigned unheard_ms = POST_UNHEARD_NS / NS_PER_MS;
    const int on = 1;

    p->fd = fd;
    p->from = p->used = 0;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unheard_ms, sizeof unheard_ms);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on); // makes the kernel notice when the
                                                              // other side has vanished
}

void post_close(struct post *p)
{
    if (p->fd >= 0)
        close(p->fd);
    p->fd = -1;
}

static bool resolve(const char *address, bool passive, struct addrinfo **found, struct err *e)
{
    const struct addrinfo hints = {
        .ai_socktype = SOCK_STREAM, .ai_flags = passive ? AI_PASSIVE : 0};
    const char *colon = strrchr(address, ':');
    size_t len = colon ? (size_t)(colon - address) : 0;
    char host[256];

    if (len > 1 && address[0] == '[' && address[len - 1] == ']') {
        address++;
        len -= 2;
    }
    snprintf(host, sizeof host, "%.*s", (int)len, address);
    int why = getaddrinfo(*host ? host : "127.0.0.1", colon ? colon + 1 : address, &hints, found);
    if (why == EAI_SERVICE)
        return err_set(e, ERR_USAGE, "'%.100s' is not HOST:PORT or PORT", address);
    return why == 0 || err_set(e, passive ? ERR_USAGE : ERR_CONNECTION, "%.100s: %s", address,
                           gai_strerror(why));
}

// Returns a socket; -1 with errno.
static int connect_to(const struct addrinfo *at)
{
    int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd >= 0 && connect(fd, at->ai_addr, at->ai_addrlen) == 0)
        return fd;
    int why = errno;
    if (fd >= 0)
        close(fd);
    errno = why;
    return -1;
}

// Tries all addresses of the host: a worker that listens on 127.0.0.1 is not at the first address
// of localhost where that is ::1.
int post_connect(const char *address, struct err *e)
{
    struct addrinfo *found;

    if (!resolve(address, false, &found, e))
        return -1;
    int fd = -1;
    for (const struct addrinfo *at = found; at && fd < 0; at = at->ai_next)
        fd = connect_to(at);
    if (fd < 0)
        err_sys(e, ERR_CONNECTION,
            "cannot connect to %s (is 'mailproof load --listen' running there?)", address);
    freeaddrinfo(found);
    return fd;
}

int post_listen(const char *address, int *port, struct err *e)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } bound = {0};
    socklen_t len = sizeof bound;
    struct addrinfo *found;
    const int on = 1;

    if (!resolve(address, true, &found, e))
        return -1;
    int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind(fd, found->ai_addr, found->ai_addrlen) != 0 || listen(fd, 4) != 0 ||
        getsockname(fd, &bound.any, &len) != 0) {
        err_sys(e, ERR_USAGE, "cannot listen on %s", address);
        if (fd >= 0)
            close(fd);
        fd = -1;
    }
    freeaddrinfo(found);
    *port = fd < 0                            ? 0
            : bound.any.sa_family == AF_INET6 ? ntohs(bound.v6.sin6_port)
                                              : ntohs(bound.v4.sin_port);
    return fd;
}

bool post_write(struct post *p, const void *bytes, size_t count, struct err *e)
{
    const char *at = bytes;

    while (count > 0) {
        ssize_t n = send(p->fd, at, count, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return err_sys(e, ERR_CONNECTION, "the other side is gone");
        at += n;
        count -= (size_t)n;
    }
    return true;
}

bool post_say(struct post *p, struct err *e, const char *fmt, ...)
{
    char line[POST_LINE_MAX];
    va_list args;

    va_start(args, fmt);
    int len = vsnprintf(line, sizeof line - 1, fmt, args);
    va_end(args);
    if (len < 0 || len >= (int)sizeof line - 1)
        return err_set(e, ERR_INTERNAL, "a line for a worker is too long");
    line[len++] = '\n';
    return post_write(p, line, (size_t)len, e);
}

// Reads more bytes and puts them behind the bytes that it has.
static bool fill(struct post *p, struct err *e)
{
    struct pollfd polled = {.fd = p->fd, .events = POLLIN};
    int ready;

    memmove(p->bytes, p->bytes + p->from, p->used - p->from);
    p->used -= p->from;
    p->from = 0;
    if (p->used == sizeof p->bytes)
        return err_set(e, ERR_CONNECTION, "the other side's line is too long");
    do
        ready = poll(&polled, 1, (int)(POST_SILENCE_NS / NS_PER_MS));
    while (ready < 0 && errno == EINTR);
    if (ready == 0)
        return err_set(e, ERR_CONNECTION, "the other side was silent for 10 s");
    ssize_t n = recv(p->fd, p->bytes + p->used, sizeof p->bytes - p->used, 0);
    if (n < 0)
        return errno == EINTR || err_sys(e, ERR_CONNECTION, "the other side is gone");
    p->used += (size_t)n;
    return n > 0 || err_set(e, ERR_CONNECTION, "the other side is gone");
}

bool post_line(struct post *p, char line[POST_LINE_MAX], struct err *e)
{
    char *end;

    while ((end = memchr(p->bytes + p->from, '\n', p->used - p->from)) == NULL) {
        if (!fill(p, e))
            return false;
    }
    size_t len = (size_t)(end - (p->bytes + p->from));
    if (len >= POST_LINE_MAX)
        return err_set(e, ERR_CONNECTION, "the other side's line is too long");
    memcpy(line, p->bytes + p->from, len);
    line[len] = '\0';
    p->from += len + 1;
    return true;
}

bool post_read(struct post *p, void *bytes, size_t count, struct err *e)
{
    char *at = bytes;

    while (count > 0) {
        size_t have = p->used - p->from;
        if (have == 0 && !fill(p, e))
            return false;
        have = p->used - p->from;
        size_t n = have < count ? have : count;
        memcpy(at, p->bytes + p->from, n);
        p->from += n;
        at += n;
        count -= n;
    }
    return true;
}

bool post_waits(const struct post *p, int limit_ms)
{
    struct pollfd polled = {.fd = p->fd, .events = POLLIN};

    return p->used > p->from || poll(&polled, 1, limit_ms) > 0;
}
