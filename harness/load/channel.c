#include "load/channel.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/socket.h>

#include "os/process.h"
#include "os/command_line.h"

void channel_init(struct channel *p, int in, int out)
{
    p->in = in;
    p->out = out;
    p->from = p->used = 0;
}

void channel_close(struct channel *p)
{
    if (p->in >= 0)
        close(p->in);
    if (p->out >= 0 && p->out != p->in)
        close(p->out);
    p->in = p->out = -1;
}

// Starts the command with `stream` as its standard input and output.
static pid_t start_worker_command(char *const *argv, int stream, struct err *e)
{
    struct process_spec spec = PROCESS_SPEC_INIT;

    spec.argv = (const char *const *)argv;
    spec.in = spec.out = stream;
    spec.err = STDERR_FILENO;
    spec.death_signal = SIGTERM;
    return process_start(&spec, e);
}

pid_t channel_start(struct channel *p, const char *command, struct err *e)
{
    char **argv = NULL;
    size_t count = 0;
    pid_t pid = -1;
    int ends[2];

    channel_init(p, -1, -1);
    command_line_split(&argv, &count, command);
    bool ok = count > 0 || err_set(e, ERR_USAGE, "a worker's command is empty");
    // One socket serves as both standard streams of the command.
    if (ok && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        ok = err_sys(e, ERR_SYSTEM, "cannot make a socket for a worker");
    if (ok) {
        pid = start_worker_command(argv, ends[1], e);
        // Now only the command holds this end, so when the command ends, the stream ends.
        close(ends[1]);
        if (pid > 0)
            channel_init(p, ends[0], ends[0]);
        else
            close(ends[0]);
    }
    memory_free_texts(argv);
    return pid;
}

bool channel_standard(struct channel *p, struct err *e)
{
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    int in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3),
        out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);

    channel_init(p, in, out);
    // A stray print from anywhere in the program would break the protocol.
    bool ok = nowhere >= 0 && in >= 0 && out >= 0 && dup2(nowhere, STDOUT_FILENO) >= 0;
    if (!ok)
        err_sys(e, ERR_SYSTEM, "cannot use the standard streams");
    if (nowhere >= 0)
        close(nowhere);
    return ok;
}

// Waits until a descriptor is ready. False when it is not ready within CHANNEL_SILENCE_NS.
static bool await_ready(int fd, short events, struct err *e)
{
    struct pollfd polled = {.fd = fd, .events = events};
    int ready;

    do
        ready = poll(&polled, 1, (int)(CHANNEL_SILENCE_NS / NS_PER_MS));
    while (ready < 0 && errno == EINTR);
    return ready != 0 || err_set(e, ERR_CONNECTION, "the other side was silent for 10 s");
}

bool channel_write(struct channel *p, const void *bytes, size_t count, struct err *e)
{
    const char *at = bytes;

    while (count > 0) {
        if (!await_ready(p->out, POLLOUT, e))
            return false;
        // A pipe or a socket that is ready takes PIPE_BUF bytes without blocking.
        ssize_t n = write(p->out, at, count < PIPE_BUF ? count : PIPE_BUF);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return err_sys(e, ERR_CONNECTION, "the other side is gone");
        at += n;
        count -= (size_t)n;
    }
    return true;
}

bool channel_say(struct channel *p, struct err *e, const char *fmt, ...)
{
    char line[CHANNEL_LINE_MAX];
    va_list args;

    va_start(args, fmt);
    int len = vsnprintf(line, sizeof line - 1, fmt, args);
    va_end(args);
    if (len < 0 || len >= (int)sizeof line - 1)
        return err_set(e, ERR_INTERNAL, "a line for a worker is too long");
    line[len++] = '\n';
    return channel_write(p, line, (size_t)len, e);
}

// Waits for more bytes and appends them to those that were not taken yet. May return true without a
// new byte, after a signal. So a caller looks whether it has enough, and calls again if not.
static bool fill_channel(struct channel *p, struct err *e)
{
    memmove(p->bytes, p->bytes + p->from, p->used - p->from);
    p->used -= p->from;
    p->from = 0;
    // The buffer is full and holds no whole line, so the other side is no mailproof.
    if (p->used == sizeof p->bytes)
        return err_set(e, ERR_CONNECTION, "the other side's line is too long");
    if (!await_ready(p->in, POLLIN, e))
        return false;
    ssize_t n = read(p->in, p->bytes + p->used, sizeof p->bytes - p->used);
    if (n < 0)
        return errno == EINTR || err_sys(e, ERR_CONNECTION, "the other side is gone");
    p->used += (size_t)n;
    return n > 0 || err_set(e, ERR_CONNECTION, "the other side is gone");
}

bool channel_line(struct channel *p, char line[CHANNEL_LINE_MAX], struct err *e)
{
    char *end;

    while ((end = memchr(p->bytes + p->from, '\n', p->used - p->from)) == NULL) {
        if (!fill_channel(p, e))
            return false;
    }
    size_t len = (size_t)(end - (p->bytes + p->from));
    if (len >= CHANNEL_LINE_MAX)
        return err_set(e, ERR_CONNECTION, "the other side's line is too long");
    memcpy(line, p->bytes + p->from, len);
    line[len] = '\0';
    p->from += len + 1;
    return true;
}

bool channel_read(struct channel *p, void *bytes, size_t count, struct err *e)
{
    char *at = bytes;

    while (count > 0) {
        size_t have = p->used - p->from;
        if (have == 0 && !fill_channel(p, e))
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

bool channel_has_input(const struct channel *p, int limit_ms)
{
    struct pollfd polled = {.fd = p->in, .events = POLLIN};

    return p->used > p->from || poll(&polled, 1, limit_ms) > 0;
}
