#include "base/program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "base/log.h"

static int stop_pipe[2] = {-1, -1};
static volatile sig_atomic_t stopping;

bool program_hold_standard_files(bool writes_output, struct err *e)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) != -1)
            continue;
        if (fd == STDOUT_FILENO && writes_output)
            return err_set(e, ERR_OUTPUT, "standard output is closed");
        if (open("/dev/null", O_RDWR) != fd)
            return err_sys(e, ERR_SYSTEM, "/dev/null cannot be opened");
    }
    return true;
}

void program_stay_private(void)
{
    // A sanitizer's leak check works like a debugger, so a build with a sanitizer stays open.
#if defined(PR_SET_DUMPABLE) && !defined(__SANITIZE_ADDRESS__)
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#endif
}

int program_tell(void print(FILE *))
{
    print(stdout);
    return fflush(stdout) == 0 && !ferror(stdout) ? EX_OK : EX_IOERR;
}

int program_exit_code(enum err_kind kind)
{
    switch (kind) {
    case ERR_NONE:
        return EX_OK;
    case ERR_USAGE:
    case ERR_SCHEMA:
        return EX_CONFIG;
    case ERR_OUTPUT:
        return EX_IOERR;
    default:
        return EX_SOFTWARE;
    }
}

static void warn_if_loose(int fd, const char *path)
{
    struct stat s;

    if (fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && (s.st_mode & S_IROTH))
        log_line("MAIN", "%s can be read by others; chmod o-r", path);
}

bool program_read_secret(const char *path, bool show_path, char *line, size_t size)
{
    FILE *f = fopen(path, "re");

    if (!f)
        return false;
    // Unbuffered, so that the secret leaves no copy in the C library's memory.
    setvbuf(f, NULL, _IONBF, 0);
    if (show_path)
        warn_if_loose(fileno(f), path);
    size_t len = fread(line, 1, size - 1, f);
    fclose(f);
    line[len] = '\0';
    line[strcspn(line, "\r\n")] = '\0';
    return true;
}

bool program_write(int fd, const char *text, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, text, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        text += n;
        len -= (size_t)n;
    }
    return true;
}

bool program_pipe(int ends[2])
{
    return pipe(ends) == 0 && fcntl(ends[0], F_SETFD, FD_CLOEXEC) == 0 &&
           fcntl(ends[1], F_SETFD, FD_CLOEXEC) == 0;
}

// Notes TERM or INT, and wakes a poll on the pipe.
static void on_signal(int number)
{
    int saved = errno;
    ssize_t ignored = write(stop_pipe[1], &(char){(char)number}, 1);

    (void)ignored; // a full pipe wakes the poll already
    stopping = 1;
    errno = saved;
}

bool program_catch_signals(struct err *e)
{
    struct sigaction stop = {.sa_handler = on_signal};
    struct sigaction ignore = {.sa_handler = SIG_IGN};

    if (!program_pipe(stop_pipe) || fcntl(stop_pipe[0], F_SETFL, O_NONBLOCK) != 0 ||
        fcntl(stop_pipe[1], F_SETFL, O_NONBLOCK) != 0)
        return err_sys(e, ERR_SYSTEM, "the pipe for signals cannot be made");
    if (sigaction(SIGTERM, &stop, NULL) != 0 || sigaction(SIGINT, &stop, NULL) != 0 ||
        sigaction(SIGPIPE, &ignore, NULL) != 0 || sigaction(SIGXFSZ, &ignore, NULL) != 0)
        return err_sys(e, ERR_SYSTEM, "signals cannot be caught");
    return true;
}

int program_stop_fd(void)
{
    return stop_pipe[0];
}

bool program_stopping(void)
{
    return stopping;
}
