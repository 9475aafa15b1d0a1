// mailproof-disk FOLDER: serves disk.img of the folder as one file, through FUSE.
//
// Standard input is an open /dev/fuse, which the caller mounts when this program has said "ok".
// Standard output is a socket on which the caller gives commands (commands.h).
//
// The program ends when the file is unmounted. So it must leave the caller's mount namespace,
// because as a member it would keep the namespace alive, and with it the mount.
#define FUSE_USE_VERSION 35

#include <fuse_lowlevel.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>

#include "disk/commands.h"
#include "disk/device.h"

#define WAITING_MAX 1024
#define WRITE_MAX (1u << 20)

static const int control = STDOUT_FILENO;

// A request that was not answered yet.
struct waiting {
    fuse_req_t request;
    size_t length;  // bytes of the write; 0: the request is a flush
    int64_t due_ns; // when the answer is due; CLOCK_NEVER: when the machine is gone
};

struct server {
    struct device device;
    struct fuse_session *session;
    struct waiting waiting[WAITING_MAX];
    size_t waiting_count;
    char line[CONTROL_LINE_MAX];
    size_t line_length;
    // STARTING: the file is not mounted yet; DESERTED: nobody gives commands any more
    enum { STARTING, SERVING, DESERTED } state;
};

static struct server *server_of(fuse_req_t request)
{
    return fuse_req_userdata(request);
}

// --- the kernel's requests -----------------------------------------------------------

// Answers a write with its length. Length 0 means a flush.
static void reply_done(fuse_req_t request, size_t length)
{
    if (length)
        fuse_reply_write(request, length);
    else
        fuse_reply_err(request, 0);
}

// Keeps the request until its answer is due. Answers EIO at once when too many are kept.
static void reply_when_due(struct server *s, fuse_req_t request, size_t length, int64_t due_ns)
{
    if (s->waiting_count == WAITING_MAX)
        fuse_reply_err(request, EIO);
    else
        s->waiting[s->waiting_count++] = (struct waiting){request, length, due_ns};
}

// Answers the request as the device decided: now, later, or not while the power is cut.
static void answer_request(
    struct server *s, fuse_req_t request, enum device_answer how, size_t length, int64_t due_ns)
{
    switch (how) {
    case DEVICE_DONE:
        reply_done(request, length);
        break;
    case DEVICE_FAILED:
        fuse_reply_err(request, EIO);
        break;
    case DEVICE_HELD:
        // A disk without power gives no answer, not even an error: the server must not learn that
        // its power was cut.
        reply_when_due(s, request, length, CLOCK_NEVER);
        break;
    case DEVICE_LATER:
        reply_when_due(s, request, length, due_ns);
        break;
    }
}

static void disk_on_init(void *userdata, struct fuse_conn_info *info)
{
    (void)userdata;
    info->max_write = WRITE_MAX;
}

static void disk_on_getattr(fuse_req_t request, fuse_ino_t ino, struct fuse_file_info *fi)
{
    struct stat st = {.st_ino = ino,
        .st_mode = S_IFREG | 0600,
        .st_nlink = 1,
        .st_size = (off_t)server_of(request)->device.size};

    (void)fi;
    fuse_reply_attr(request, &st, 3600); // the kernel may keep the answer for an hour
}

// Opens the file without the page cache, because the kernel must not remember data that a power cut
// took away.
static void disk_on_open(fuse_req_t request, fuse_ino_t ino, struct fuse_file_info *fi)
{
    (void)ino;
    fi->direct_io = 1;
    fuse_reply_open(request, fi);
}

static void disk_on_read(
    fuse_req_t request, fuse_ino_t ino, size_t length, off_t offset, struct fuse_file_info *fi)
{
    struct device *d = &server_of(request)->device;
    char *data FREED_BY(memory_free) = memory_allocate(length);

    (void)ino;
    (void)fi;
    if (device_read(d, (uint64_t)offset, data, length))
        fuse_reply_buf(request, data, length);
    else
        fuse_reply_err(request, EIO);
}

static void disk_on_write(fuse_req_t request, fuse_ino_t ino, const char *data, size_t length,
    off_t offset, struct fuse_file_info *fi)
{
    struct server *s = server_of(request);

    (void)ino;
    (void)fi;
    // Only a flush may be delayed, so a write needs no time for its answer.
    answer_request(
        s, request, device_write(&s->device, (uint64_t)offset, data, length), length, CLOCK_NEVER);
}

static void disk_on_fsync(
    fuse_req_t request, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
    struct server *s = server_of(request);
    int64_t due_ns = CLOCK_NEVER;

    (void)ino;
    (void)datasync;
    (void)fi;
    enum device_answer how = device_flush(&s->device, clock_now_ns(), &due_ns);
    answer_request(s, request, how, 0, due_ns);
}

static const struct fuse_lowlevel_ops operations = {
    .init = disk_on_init,
    .getattr = disk_on_getattr,
    .open = disk_on_open,
    .read = disk_on_read,
    .write = disk_on_write,
    .fsync = disk_on_fsync,
};

static int64_t next_due_ns(const struct server *s)
{
    int64_t due_ns = CLOCK_NEVER;

    for (size_t i = 0; i < s->waiting_count; i++)
        due_ns = clock_min(due_ns, s->waiting[i].due_ns);
    return due_ns;
}

// True when the answer to a request is due. A request that a power cut holds is due when the
// machine is gone, because then nobody sees the answer. A request that a slow disk delays is due at
// its time, or as soon as the disk is no longer slow.
static bool is_answer_due(const struct server *s, const struct waiting *w, int64_t now_ns)
{
    if (w->due_ns == CLOCK_NEVER)
        return s->device.power != POWER_DARK;
    return w->due_ns <= now_ns || s->device.flush_takes_ns == 0;
}

// Answers the requests whose answer is due, and keeps the others.
static void answer_due_requests(struct server *s, int64_t now_ns)
{
    size_t left = 0;

    for (size_t i = 0; i < s->waiting_count; i++) {
        struct waiting *w = &s->waiting[i];
        if (is_answer_due(s, w, now_ns))
            reply_done(w->request, w->length);
        else
            s->waiting[left++] = *w;
    }
    s->waiting_count = left;
}

// --- the harness's commands -------------------------------------------------------------

static bool send_control_line(const char *text)
{
    char line[CONTROL_LINE_MAX + 2];
    int length = snprintf(line, sizeof line, "%s\n", text);

    return write(control, line, (size_t)length) == length;
}

// The harness is gone, so the disk only serves until it is unmounted. If its power is cut at that
// moment, it is switched off, so that the held requests are answered and the file can be unmounted.
static void go_on_without_harness(struct server *s)
{
    if (s->device.power == POWER_DARK)
        s->device.power = POWER_OFF;
    if (s->state == STARTING) // nothing is mounted, so there is nothing to serve
        fuse_session_exit(s->session);
    else
        s->state = DESERTED;
}

// Carries out a line of the harness, and answers it. "serve" says that the file is mounted; every
// other line is a command for the device.
static void run_control_line(struct server *s, char *line)
{
    char text[CONTROL_LINE_MAX] = "ok";

    if (strcmp(line, "serve") == 0)
        s->state = SERVING;
    else
        commands_run(&s->device, line, text, sizeof text);
    if (!send_control_line(text))
        go_on_without_harness(s);
}

// Reads from the control socket, carries out the complete lines, and keeps the rest for the next
// call.
static void read_commands(struct server *s)
{
    ssize_t got = read(control, s->line + s->line_length, sizeof s->line - 1 - s->line_length);

    if (got < 0 && errno == EINTR)
        return;
    if (got <= 0) {
        go_on_without_harness(s);
        return;
    }
    s->line_length += (size_t)got;
    for (char *end; (end = memchr(s->line, '\n', s->line_length)) != NULL;) {
        size_t used = (size_t)(end - s->line) + 1;
        *end = '\0';
        run_control_line(s, s->line);
        s->line_length -= used;
        memmove(s->line, s->line + used, s->line_length);
    }
    // A line that fills the buffer is no command, so drop it.
    if (s->line_length == sizeof s->line - 1)
        s->line_length = 0;
}

// --- the loop ------------------------------------------------------------------------------

// Reads one request of the kernel and lets FUSE call the function for it. False when the file was
// unmounted.
static bool serve_request(struct server *s, struct fuse_buf *buf)
{
    int got = fuse_session_receive_buf(s->session, buf);

    if (got == -EINTR || got == -EAGAIN)
        return true;
    if (got <= 0)
        return false;
    fuse_session_process_buf(s->session, buf);
    return true;
}

// Serves requests and commands until the file is unmounted.
static void serve_device(struct server *s)
{
    struct fuse_buf buf = {0};
    bool ok = true;

    while (ok && !fuse_session_exited(s->session)) {
        // poll ignores a descriptor of -1. Before the mount there are no requests to wait for, and
        // without the harness no commands.
        struct pollfd polled[2] = {
            {.fd = s->state == STARTING ? -1 : fuse_session_fd(s->session), .events = POLLIN},
            {.fd = s->state == DESERTED ? -1 : control, .events = POLLIN},
        };
        int ready = poll(polled, 2, clock_poll_ms(clock_now_ns(), next_due_ns(s)));
        if (ready < 0 && errno != EINTR)
            break;
        if (ready > 0 && polled[1].revents)
            read_commands(s);
        if (ready > 0 && polled[0].revents)
            ok = serve_request(s, &buf);
        answer_due_requests(s, clock_now_ns());
    }
    free(buf.mem);
}

// Gives this process a mount namespace of its own, in which mounts that the harness makes later
// (MS_PRIVATE) do not appear: else it would keep its own mount alive, and never end. False on
// failure.
static bool leave_namespace(void)
{
    return unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

// Makes the session on /dev/fuse, which is our standard input. NULL on failure.
static struct fuse_session *attach_session(struct server *s)
{
    char name[] = "mailproof-disk";
    char *argv[] = {name, NULL};
    struct fuse_args args = FUSE_ARGS_INIT(1, argv);
    struct fuse_session *session = fuse_session_new(&args, &operations, sizeof operations, s);

    if (session && fuse_session_mount(session, "/dev/fd/0") != 0) {
        fuse_session_destroy(session);
        session = NULL;
    }
    fuse_opt_free_args(&args);
    return session;
}

int main(int argc, char **argv)
{
    struct err e = {0};

    if (argc != 2 || *argv[1] == '-') {
        fprintf(stderr, "mailproof-disk FOLDER: a part of mailproof, which starts it\n");
        return 64; // EX_USAGE
    }
    struct server *s FREED_BY(memory_free) = memory_zeroed(1, sizeof *s);
    signal(SIGPIPE, SIG_IGN);
    s->device = (struct device)DEVICE_INIT;
    bool ok = device_open(&s->device, argv[1], &e) &&
              (leave_namespace() || err_sys(&e, ERR_SYSTEM, "cannot leave the mount namespace")) &&
              ((s->session = attach_session(s)) || err_set(&e, ERR_SYSTEM, "cannot speak FUSE"));
    if (!ok)
        send_control_line(e.text);
    else if (send_control_line("ok"))
        serve_device(s);
    // The program prints nothing here: it has no terminal, and send_control_line has sent the
    // reason to the harness.
    if (s->session)
        fuse_session_destroy(s->session);
    device_close(&s->device);
    return ok ? 0 : 70; // EX_SOFTWARE
}
