#include "postgres/local/drive.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/socket.h>

#include "os/paths.h"
#include "os/process.h"

static const int64_t answer_limit_ns = 20 * NS_PER_S;
static const int64_t end_limit_ns = 10 * NS_PER_S;

// Reads one line of the answer, without its newline.
static bool read_answer_line(const struct drive *d, char *line, size_t size, struct err *e)
{
    int64_t deadline = clock_now_ns() + answer_limit_ns;

    for (size_t used = 0; used + 1 < size;) {
        struct pollfd polled = {.fd = d->control, .events = POLLIN};
        int ready = poll(&polled, 1, clock_poll_ms(clock_now_ns(), deadline));
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready == 0)
            return err_set(e, ERR_SYSTEM, "the disk did not answer within 20 s");
        // Reads one byte at a time, because nothing after the line may be taken from the socket.
        if (ready < 0 || read(d->control, line + used, 1) != 1)
            return err_set(e, ERR_SYSTEM, "the disk's program has ended");
        if (line[used] == '\n') {
            line[used] = '\0';
            return true;
        }
        used++;
    }
    return err_set(e, ERR_SYSTEM, "the disk's answer is too long");
}

bool drive_start(struct drive *d, const char *dir, struct err *e)
{
    struct process_spec spec = PROCESS_SPEC_INIT;
    char program[PATH_MAX], line[300];
    int ends[2];

    if (!path_helper(program, DRIVE_PROGRAM, ERR_SKIP, e))
        return err_prefix(e, "storage: crashable, whose program is built where libfuse3-dev is");
    // We open /dev/fuse, and mount with it (drive_mount), so that the program needs no helper with
    // root's rights.
    d->fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    if (d->fuse < 0)
        return err_sys(e, ERR_SKIP, "storage: crashable needs /dev/fuse");
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return err_sys(e, ERR_SYSTEM, "cannot make a socket");
    const char *argv[] = {program, dir, NULL};
    spec.argv = argv;
    spec.in = d->fuse;
    spec.out = ends[1];
    d->control = ends[0];
    d->pid = process_start(&spec, e);
    close(ends[1]);
    if (d->pid < 0) {
        d->pid = 0;
        return false;
    }
    return read_answer_line(d, line, sizeof line, e) &&
           (strcmp(line, "ok") == 0 || err_set(e, ERR_SKIP, "storage: crashable: %s", line));
}

bool drive_mount(struct drive *d, const char *path, struct err *e)
{
    char options[120];

    // rootmode: this file system holds one plain file, which is its root.
    snprintf(options, sizeof options, "fd=%d,rootmode=100000,user_id=0,group_id=0", d->fuse);
    if (mount("mailproof", path, "fuse.mailproof", MS_NOSUID | MS_NODEV, options) != 0)
        return err_sys(e, ERR_SKIP, "storage: crashable needs to mount FUSE");
    // Only the program keeps this descriptor, so the kernel notices when the program is gone.
    close(d->fuse);
    d->fuse = -1;
    return drive_command(d, NULL, 0, e, "serve");
}

// Parses `count` numbers with blanks before them. Further numbers may follow.
static bool parse_drive_numbers(const char *text, int64_t *numbers, size_t count, struct err *e)
{
    for (size_t i = 0; i < count; i++) {
        char *end;
        numbers[i] = strtoll(text, &end, 10);
        if (end == text)
            return err_set(e, ERR_INTERNAL, "the disk's answer has too few numbers");
        text = end;
    }
    return true;
}

bool drive_command(
    struct drive *d, int64_t *numbers, size_t count, struct err *e, const char *fmt, ...)
{
    char line[300];
    va_list args;

    va_start(args, fmt);
    int length = vsnprintf(line, sizeof line - 1, fmt, args);
    va_end(args);
    if (length < 0 || length >= (int)sizeof line - 1)
        return err_set(e, ERR_INTERNAL, "a command for the disk is too long");
    line[length++] = '\n';
    if (d->control < 0)
        return err_set(e, ERR_SYSTEM, "the disk's program was given up");
    if (send(d->control, line, (size_t)length, MSG_NOSIGNAL) != length)
        return err_set(e, ERR_SYSTEM, "the disk's program has ended");
    if (!read_answer_line(d, line, sizeof line, e)) {
        // Gives up the socket, because a late answer would be taken for that of the next command.
        // The program goes on serving the file until the file is unmounted.
        close(d->control);
        d->control = -1;
        return false;
    }
    if (strncmp(line, "ok", 2) != 0)
        return err_set(e, ERR_SYSTEM, "the disk: %s", line);
    return parse_drive_numbers(line + 2, numbers, count, e);
}

void drive_end(struct drive *d)
{
    if (d->fuse >= 0)
        close(d->fuse);
    // If the file was never mounted, the program ends when its socket is closed.
    if (d->control >= 0)
        close(d->control);
    if (d->pid > 0 && !process_wait(d->pid, clock_now_ns() + end_limit_ns, NULL))
        process_end(d->pid, SIGKILL, 0);
    *d = (struct drive)DRIVE_INIT;
}
