#include "output.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

// Opens the file again, because the descriptor itself may be for writing only.
static bool ends_within_a_line(int fd, off_t size)
{
    char path[40], last = '\n';

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int in = open(path, O_RDONLY | O_CLOEXEC);
    bool torn = in >= 0 && pread(in, &last, 1, size - 1) == 1 && last != '\n';
    if (in >= 0)
        close(in);
    return torn;
}

static bool end_torn_line(int fd, const struct stat *st, struct err *e)
{
    bool at_end = (fcntl(fd, F_GETFL) & O_APPEND) || lseek(fd, 0, SEEK_CUR) == st->st_size;

    if (!S_ISREG(st->st_mode) || st->st_size == 0 || !at_end ||
        !ends_within_a_line(fd, st->st_size))
        return true;
    return write(fd, "\n", 1) == 1 || err_sys(e, ERR_OUTPUT, "standard output failed");
}

bool output_init(struct output *o, int fd, struct err *e)
{
    struct stat st;

    *o = (struct output){.fd = fd, .kind = OUTPUT_PIPE};
    if (fstat(fd, &st) != 0)
        return err_sys(e, ERR_OUTPUT, "standard output cannot be used");
    if (S_ISSOCK(st.st_mode))
        o->kind = OUTPUT_SOCKET;
    else if (S_ISREG(st.st_mode) || S_ISBLK(st.st_mode))
        o->kind = OUTPUT_FILE;
    return end_torn_line(fd, &st, e);
}

void output_begin(struct output *o, const char *data, size_t len)
{
    assert(output_idle(o));
    o->data = data;
    o->len = len;
    o->done = 0;
}

void output_cancel(struct output *o)
{
    assert(!output_begun(o));
    o->data = NULL;
    o->len = o->done = 0;
}

void output_end(struct output *o)
{
    assert(output_idle(o));
    o->data = NULL;
    o->len = o->done = 0;
}

bool output_ready(const struct output *o)
{
    struct pollfd p = {.fd = o->fd, .events = POLLOUT};

    return o->kind == OUTPUT_FILE || poll(&p, 1, 0) > 0;
}

// Writes once, without waiting; -1 with EAGAIN when there is no room.
static ssize_t put(const struct output *o)
{
    const char *from = o->data + o->done;
    size_t left = o->len - o->done;

    if (o->kind == OUTPUT_SOCKET)
        return send(o->fd, from, left, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (o->kind == OUTPUT_FILE)
        return write(o->fd, from, left);
    if (!output_ready(o)) {
        errno = EAGAIN;
        return -1;
    }
    return write(o->fd, from, left < PIPE_BUF ? left : PIPE_BUF);
}

bool output_pump(struct output *o, struct err *e)
{
    while (o->done < o->len) {
        ssize_t n = put(o);
        if (n >= 0) {
            o->done += (size_t)n;
            continue;
        }
        if (errno == EINTR)
            continue;
        if (errno == EAGAIN || errno == EWOULDBLOCK)
            return true;
        return err_sys(e, ERR_OUTPUT, "standard output failed");
    }
    return true;
}

bool output_idle(const struct output *o)
{
    return o->done == o->len;
}

bool output_begun(const struct output *o)
{
    return o->done > 0 && o->done < o->len;
}

short output_events(const struct output *o)
{
    return output_idle(o) ? 0 : POLLOUT;
}

bool output_check(const struct output *o, struct err *e)
{
    struct pollfd p = {.fd = o->fd, .events = 0};

    if (o->kind == OUTPUT_FILE || poll(&p, 1, 0) <= 0)
        return true;
    return err_set(e, ERR_OUTPUT, "the reader of standard output has gone");
}
