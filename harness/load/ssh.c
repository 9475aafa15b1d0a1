#include "load/ssh.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/process.h"

static const char prefix[] = "ssh://";

bool ssh_is(const char *address)
{
    return strncmp(address, prefix, strlen(prefix)) == 0;
}

// Copies the next part of the address as far as its characters are in `allowed`.
static bool take(const char **at, const char *allowed, char *out, size_t size)
{
    size_t len = strspn(*at, allowed);

    if (len == 0 || len >= size)
        return false;
    memcpy(out, *at, len);
    out[len] = '\0';
    *at += len;
    return true;
}

#define WORD "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

bool ssh_parse(const char *address, struct ssh_address *out, struct err *e)
{
    const char *at = address + strlen(prefix);

    *out = (struct ssh_address){.program = "mailproof"};
    bool ok = *at != '-' && take(&at, WORD "@", out->host, sizeof out->host);
    if (ok && *at == ':') {
        at++;
        ok = take(&at, "0123456789", out->port, sizeof out->port);
    }
    if (ok && *at == '/')
        ok = at[strlen(at) - 1] != '/' && take(&at, WORD "/+", out->program, sizeof out->program);
    return (ok && *at == '\0') ||
           err_set(e, ERR_USAGE,
               "'%.200s' should be ssh://[user@]host[:port][/path/to/mailproof], of letters, "
               "digits and ._-+",
               address);
}

int ssh_connect(const char *address, pid_t *pid, struct err *e)
{
    struct ssh_address a;
    int fds[2];

    if (!ssh_parse(address, &a, e))
        return -1;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) {
        err_sys(e, ERR_SYSTEM, "cannot make a socket for a worker");
        return -1;
    }
    const char *argv[20];
    size_t n = 0;
    // These options make ssh notice a dead connection before we take its worker for lost.
    const char *const always[] = {"ssh", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=8",
        "-o", "ServerAliveInterval=3", "-o", "ServerAliveCountMax=2"};
    for (; n < sizeof always / sizeof *always; n++)
        argv[n] = always[n];
    if (*a.port) {
        argv[n++] = "-p";
        argv[n++] = a.port;
    }
    const char *const rest[] = {"--", a.host, a.program, "load", "--listen", "-", NULL};
    memcpy(argv + n, rest, sizeof rest);
    struct process_spec spec = PROCESS_SPEC_INIT;
    spec.argv = argv;
    spec.in = spec.out = fds[1];
    spec.err = STDERR_FILENO;
    spec.death_signal = SIGTERM;
    *pid = process_start(&spec, e);
    close(fds[1]);
    if (*pid > 0)
        return fds[0];
    close(fds[0]);
    return -1;
}

// --- the other side ---------------------------------------------------------------------

static bool write_all(int fd, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t n = write(fd, bytes, count);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        bytes += n;
        count -= (size_t)n;
    }
    return true;
}

// Passes bytes on. Returns false when either side has ended.
static bool pass(int from, int to)
{
    char bytes[16384];
    ssize_t n = read(from, bytes, sizeof bytes);

    return n > 0 ? write_all(to, bytes, (size_t)n) : n < 0 && errno == EINTR;
}

// Waits for input. False: the socket is closed, so nobody wants input any more.
static bool await_input(const struct ssh_bridge *b)
{
    struct pollfd fds[] = {{.fd = b->in, .events = POLLIN}, {.fd = b->socket}};

    while (poll(fds, 2, -1) < 0 && errno == EINTR)
        ;
    return !(fds[1].revents & (POLLHUP | POLLERR));
}

static void *copy_inward(void *arg)
{
    struct ssh_bridge *b = arg;

    while (await_input(b) && pass(b->in, b->socket))
        ;
    shutdown(b->socket, SHUT_RDWR); // the run is gone; the closed socket tells the worker so
    return NULL;
}

static void *copy_outward(void *arg)
{
    struct ssh_bridge *b = arg;

    while (pass(b->socket, b->out))
        ;
    shutdown(b->socket, SHUT_RDWR);
    return NULL;
}

// Connects the streams. Returns the worker's end of the socket; -1 with the reason.
static int open_streams(struct ssh_bridge *b, struct err *e)
{
    int fds[2];

    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    b->in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    b->out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (nowhere < 0 || b->in < 0 || b->out < 0 || dup2(nowhere, STDOUT_FILENO) < 0 ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) {
        err_sys(e, ERR_SYSTEM, "cannot use the standard streams");
        return -1;
    }
    close(nowhere);
    b->socket = fds[0];
    return fds[1];
}

int ssh_accept(struct ssh_bridge *b, struct err *e)
{
    int worker = open_streams(b, e);

    if (worker < 0)
        return -1;
    if (pthread_create(&b->outward, NULL, copy_outward, b) != 0) {
        err_set(e, ERR_SYSTEM, "cannot start a thread");
        return -1;
    }
    if (pthread_create(&b->inward, NULL, copy_inward, b) != 0) {
        close(worker);
        pthread_join(b->outward, NULL);
        err_set(e, ERR_SYSTEM, "cannot start a thread");
        return -1;
    }
    return worker;
}

void ssh_finish(struct ssh_bridge *b)
{
    pthread_join(b->outward, NULL);
    pthread_join(b->inward, NULL);
    close(b->in);
    close(b->out);
    close(b->socket);
}
