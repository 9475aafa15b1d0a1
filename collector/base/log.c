#include "base/log.h"
#include "base/noun.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/utf8.h"

// Writes the time and the tag, with which each line begins. Returns their length.
static size_t stamp(char *line, size_t size, const char *tag)
{
    time_t now = time(NULL);
    struct tm local;

    localtime_r(&now, &local);
    size_t used = strftime(line, size, "%Y/%m/%d %H:%M:%S", &local);
    int more = snprintf(line + used, size - used, " [%s] ", tag);
    return more < 0 ? used : used + (size_t)more;
}

static struct {
    bool never_waits;
    long dropped;
} state;

void log_never_wait(void)
{
    struct stat st;

    state.never_waits = fstat(STDERR_FILENO, &st) == 0 && S_ISFIFO(st.st_mode);
}

// True when a line can be written without waiting, or the log may wait. A pipe that polls as
// writable takes PIPE_BUF bytes, which is more than a line.
static bool has_room(void)
{
    struct pollfd p = {.fd = STDERR_FILENO, .events = POLLOUT};

    return !state.never_waits || poll(&p, 1, 0) != 0;
}

// Writes a line, or drops and counts it if it would have to wait. If lines were dropped before,
// another line says so first.
static void write_or_drop(const char *line, size_t len)
{
    char about[128];

    if (!has_room()) {
        state.dropped++;
        return;
    }
    ssize_t ignored = 0; // a failure of the log can be reported nowhere
    if (state.dropped > 0) {
        size_t used = stamp(about, sizeof about, "MAIN");
        int more = snprintf(about + used, sizeof about - used, "%ld %s of the log found no room\n",
            state.dropped, NOUN(state.dropped, "line", "lines"));
        ignored = write(STDERR_FILENO, about, used + (size_t)more);
        (void)ignored;
        state.dropped = 0;
        if (!has_room()) {
            state.dropped = 1;
            return;
        }
    }
    ignored = write(STDERR_FILENO, line, len);
    (void)ignored;
}

void log_line(const char *tag, const char *fmt, ...)
{
    char line[2048];
    // Callers may log a failure first, and look at errno afterwards.
    int saved = errno;
    va_list args;
    size_t used = stamp(line, 128, tag);

    va_start(args, fmt);
    int more = vsnprintf(line + used, sizeof line - used - 1, fmt, args);
    va_end(args);
    size_t end = used + (more < 0 ? 0 : (size_t)more);
    // A longer text is cut: the line must fit into one write to a pipe.
    if (end > sizeof line - 2)
        end = sizeof line - 2;
    line[end] = '\0';
    // The text may come from a server, and the cut may have split a character.
    utf8_mend(line + used);
    line[end] = '\n';
    write_or_drop(line, end + 1);
    errno = saved;
}
