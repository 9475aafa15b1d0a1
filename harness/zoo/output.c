#include "output.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/base.h"
#include "stop.h"

void output_init(void)
{
    struct stat st;

    // A terminal stays blocking, because standard error and the shell often share it.
    if (fstat(STDOUT_FILENO, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)))
        fcntl(STDOUT_FILENO, F_SETFL, fcntl(STDOUT_FILENO, F_GETFL) | O_NONBLOCK);
}

// Waits until the reader takes more, and counts announcements meanwhile. *alive: the connection
// works.
static bool wait_for_reader(
    struct session *s, int *announced, bool *alive, enum defect defect, struct err *e)
{
    struct pollfd fds[] = {
        {.fd = STDOUT_FILENO, .events = POLLOUT},
        {.fd = *alive ? PQsocket(s->conn) : -1, .events = POLLIN},
    };
    struct err ignored;

    // Waits without a limit, and signals stay blocked, so TERM is not noticed.
    if (defect == DEFECT_BLOCKS_AT_TERM)
        return poll(fds, 1, -1) >= 0 || err_sys(e, ERR_SYSTEM, "cannot wait for the reader");
    if (!stop_poll(fds, 2, CLOCK_NEVER) && stop_expired(CLOCK_NEVER))
        return err_set(e, ERR_INTERRUPTED, "stopped before the reader took the whole line");
    // An error of the connection need not be handled here, because it shows again when the cursor
    // is moved.
    if (*alive && fds[1].revents != 0)
        *alive = session_listen(s, announced, &ignored);
    return true;
}

bool output_write(
    const struct buf *line, struct session *s, int *announced, enum defect defect, struct err *e)
{
    bool alive = true;

    for (size_t sent = 0; sent < line->len;) {
        ssize_t n = write(STDOUT_FILENO, line->data + sent, line->len - sent);
        if (n >= 0)
            sent += (size_t)n;
        else if (errno != EAGAIN && errno != EINTR)
            return err_sys(e, ERR_OUTPUT, "cannot write to standard output");
        else if (errno == EAGAIN && sent == 0 && defect == DEFECT_FULL_PIPE)
            return true; // the line is forgotten
        else if (!wait_for_reader(s, announced, &alive, defect, e))
            return false;
    }
    return true;
}
