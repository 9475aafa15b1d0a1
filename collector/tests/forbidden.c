// A library that sandbox_test.sh loads into a live collector. On USR1 it makes the call that the
// variable FORBIDDEN names, and then says how that went: what an intruder's code would do.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/base.h"

static const char *call;

static void *do_nothing(void *argument)
{
    return argument;
}

// The signal comes while the collector waits for its server, so it interrupts no library.
// NOLINTBEGIN(bugprone-signal-handler,cert-sig30-c)
static long try(void)
{
    char *const nothing[] = {NULL};
    const char *file = getenv("FORBIDDEN_FILE");
    pthread_t thread;

    if (strcmp(call, "execve") == 0)
        return execve("/bin/true", nothing, nothing);
    if (strcmp(call, "fork") == 0) {
        long pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
        if (pid == 0)
            _exit(0);
        return pid;
    }
    if (strcmp(call, "thread") == 0)
        return pthread_create(&thread, NULL, do_nothing, NULL) == 0 ? pthread_join(thread, NULL)
                                                                    : -1;
    if (strcmp(call, "ptrace") == 0)
        return ptrace(PTRACE_TRACEME, 0, 0, 0);
    if (strcmp(call, "write-file") == 0 && file)
        return open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (strcmp(call, "make-code") == 0)
        return mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                   0) == MAP_FAILED
                   ? -1
                   : 0;
    if (strcmp(call, "change-code") == 0) {
        void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return mprotect(page, 4096, PROT_READ | PROT_EXEC);
    }
    if (strcmp(call, "kill") == 0)
        return kill(getppid(), SIGCONT);
    if (strcmp(call, "raw-socket") == 0)
        return socket(AF_PACKET, SOCK_RAW, 0);
    if (strcmp(call, "read-file") == 0)
        return open("/etc/passwd", O_RDONLY | O_CLOEXEC);
    abort();
}

static void on_signal(int number)
{
    char text[80];
    long result = try();
    int len = snprintf(
        text, sizeof text, "FORBIDDEN %s: %s\n", call, result >= 0 ? "done" : strerror(errno));

    (void)number;
    ssize_t ignored = write(STDERR_FILENO, text, (size_t)len);
    (void)ignored;
}

// NOLINTEND(bugprone-signal-handler,cert-sig30-c)

__attribute__((constructor)) static void prepare(void)
{
    call = getenv("FORBIDDEN");
    // Without the variable the library does nothing.
    if (call)
        signal(SIGUSR1, on_signal);
}
