#include "wire/output.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>

// True when the file's last byte is not a newline. Opens the file again, because the descriptor
// itself may be for writing only.
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

// A collector that starts must know whether the one before it died inside a line. What is in a pipe
// cannot be read back, and the pipe outlives a collector that a script or a service manager starts
// again. So while a line that may be torn is being written, the open file description of the pipe
// or socket bears a mark, which outlives us as well. The mark is a signal number (F_SETSIG); the
// kernel uses that number only for descriptions that somebody made asynchronous (O_ASYNC).
#ifdef F_SETSIG
#define MARK SIGIO // the signal that is also sent when no number is set
static bool marked(int fd)
{
    return fcntl(fd, F_GETSIG) == MARK;
}

static void set_mark(int fd, int mark)
{
    (void)fcntl(fd, F_SETSIG, mark); // if that fails, a torn line is not noticed
}
#else
#define MARK 0
static bool marked(int fd)
{
    (void)fd;
    return false;
}

static void set_mark(int fd, int mark)
{
    (void)fd;
    (void)mark;
}
#endif

// True if the writer before us died within a line.
static bool torn(const struct output *o, const struct stat *st)
{
    // In the middle of a file we write over what is there, and no line is joined to ours.
    bool at_end = (fcntl(o->fd, F_GETFL) & O_APPEND) || lseek(o->fd, 0, SEEK_CUR) == st->st_size;

    if (S_ISREG(st->st_mode))
        return st->st_size > 0 && at_end && ends_within_a_line(o->fd, st->st_size);
    return o->kind != OUTPUT_FILE && marked(o->fd);
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
    o->torn = torn(o, &st);
    return true;
}

void output_begin(struct output *o, const char *data, size_t len)
{
    assert(output_idle(o));
    o->data = data;
    o->len = len;
    o->done = 0;
}

void output_forget(struct output *o)
{
    assert(o->done == 0 || output_idle(o));
    o->data = NULL;
    o->len = o->done = 0;
}

bool output_ready(const struct output *o)
{
    struct pollfd p = {.fd = o->fd, .events = POLLOUT};

    return o->kind == OUTPUT_FILE || poll(&p, 1, 0) > 0;
}

// Calls write or send once, without waiting, and returns its result; -1 with EAGAIN: there is no
// room.
static ssize_t put_out(const struct output *o, const char *from, size_t left)
{
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

// Writes as much as there is room for, and adds the number of written bytes to *done.
static bool pump(struct output *o, const char *data, size_t len, size_t *done, struct err *e)
{
    while (*done < len) {
        ssize_t n = put_out(o, data + *done, len - *done);
        if (n >= 0)
            *done += (size_t)n;
        else if (errno == EAGAIN || errno == EWOULDBLOCK)
            return true;
        else if (errno != EINTR)
            return err_sys(e, ERR_OUTPUT, "standard output failed");
    }
    return true;
}

// True when the line is torn if we die while it is written. A line of up to PIPE_BUF bytes goes
// into a pipe whole or not at all.
static bool needs_mark(const struct output *o)
{
    return o->kind == OUTPUT_SOCKET || (o->kind == OUTPUT_PIPE && o->len > PIPE_BUF);
}

bool output_pump(struct output *o, struct err *e)
{
    if (o->torn) {
        // No line of ours has a quote, so a reader knows that the line that this ends is torn.
        static const char end[] = "\"\n";
        if (!pump(o, end, sizeof end - 1, &o->ended, e))
            return false;
        if (o->ended < sizeof end - 1)
            return true;
        o->torn = false;
        set_mark(o->fd, 0);
    }
    if (o->done == 0 && needs_mark(o))
        set_mark(o->fd, MARK);
    if (!pump(o, o->data, o->len, &o->done, e))
        return false;
    if (output_idle(o) && needs_mark(o))
        set_mark(o->fd, 0);
    return true;
}

bool output_idle(const struct output *o)
{
    return o->done == o->len;
}

bool output_check(const struct output *o, struct err *e)
{
    struct pollfd p = {.fd = o->fd, .events = 0};

    if (o->kind == OUTPUT_FILE || poll(&p, 1, 0) <= 0)
        return true;
    return err_set(e, ERR_OUTPUT, "the reader of standard output has gone");
}
