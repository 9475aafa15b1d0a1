#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static size_t stamp(char *line, size_t size, const char *tag)
{
    time_t now = time(NULL);
    struct tm local;

    localtime_r(&now, &local);
    size_t used = strftime(line, size, "%Y/%m/%d %H:%M:%S", &local);
    int more = snprintf(line + used, size - used, " [%s] ", tag);
    return more < 0 ? used : used + (size_t)more;
}

void log_line(const char *tag, const char *fmt, ...)
{
    char line[2048];
    int saved = errno;
    va_list args;
    size_t used = stamp(line, 128, tag);

    va_start(args, fmt);
    int more = vsnprintf(line + used, sizeof line - used - 1, fmt, args);
    va_end(args);
    size_t end = used + (more < 0 ? 0 : (size_t)more);
    if (end > sizeof line - 2)
        end = sizeof line - 2;
    for (size_t i = used; i < end; i++) {
        unsigned char c = (unsigned char)line[i];
        if (c < 0x20 || c == 0x7f)
            line[i] = '?';
    }
    line[end] = '\n';
    // A log that cannot be written has nowhere to complain to.
    ssize_t ignored = write(STDERR_FILENO, line, end + 1);
    (void)ignored;
    errno = saved;
}
