#include "lease/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif

void child_init(struct child *c)
{
    *c = (struct child){.in = -1, .out = -1};
}

static void close_pair(int pair[2])
{
    for (int i = 0; i < 2; i++)
        if (pair[i] >= 0)
            close(pair[i]);
}

// True for a setting of the collector or of libpq. Those name the database, and may have its
// password and the key that signs: nothing that a sender needs.
static bool is_private(const char *variable)
{
    return strncmp(variable, "MAILROOM_", 9) == 0 || strncmp(variable, "PG", 2) == 0;
}

// Returns the environment without what is private. The caller frees the list, whose strings are
// the environment's. NULL: out of memory.
static char **make_environment(void)
{
    size_t count = 0, kept = 0;

    while (environ[count])
        count++;
    char **list = calloc(count + 1, sizeof *list);
    for (size_t i = 0; list && i < count; i++)
        if (!is_private(environ[i]))
            list[kept++] = environ[i];
    return list;
}

// Runs in the child, between fork and exec: it makes only calls that are safe there.
static void become(char *const argv[], char **environment, int in, int out, int report)
{
    struct sigaction usual = {.sa_handler = SIG_DFL};

    setpgid(0, 0);
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGTERM);
#endif
    sigaction(SIGPIPE, &usual, NULL);
    sigaction(SIGXFSZ, &usual, NULL);
    environ = environment; // where execvp also finds PATH
    if (dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0)
        execvp(argv[0], argv);
    int why = errno;
    ssize_t ignored = write(report, &why, sizeof why);
    (void)ignored;
    _exit(127);
}

// True when the program was executed: then the pipe is closed and empty. Otherwise it has the
// errno.
static bool executed(int report, const char *name, struct err *e)
{
    int why;
    ssize_t n;

    do
        n = read(report, &why, sizeof why);
    while (n < 0 && errno == EINTR);
    if (n != sizeof why)
        return true;
    errno = why;
    return err_sys(e, ERR_USAGE, "the sender '%s' cannot be executed", name);
}

static bool make_pipes(int in[2], int out[2], int report[2], struct err *e)
{
    int *const all[] = {in, out, report};

    for (int i = 0; i < 3; i++) {
        if (pipe(all[i]) != 0)
            return err_sys(e, ERR_SYSTEM, "the pipes for the sender cannot be made");
        for (int k = 0; k < 2; k++)
            if (fcntl(all[i][k], F_SETFD, FD_CLOEXEC) != 0)
                return err_sys(e, ERR_SYSTEM, "the pipes for the sender cannot be made");
    }
    return true;
}

// A signal may interrupt the wait: TERM often comes at the same time.
static int wait_for(pid_t pid)
{
    int status = 0;

    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

bool child_start(struct child *c, char *const argv[], struct err *e)
{
    int in[2] = {-1, -1}, out[2] = {-1, -1}, report[2] = {-1, -1};
    char **environment = make_environment();
    bool ok = (environment || err_memory(e)) && make_pipes(in, out, report, e);

    if (ok) {
        c->pid = fork();
        if (c->pid == 0)
            become(argv, environment, in[0], out[1], report[1]);
        ok = c->pid > 0 || err_sys(e, ERR_SYSTEM, "the sender cannot be started");
    }
    free(environment);
    if (ok) {
        close(report[1]);
        report[1] = -1;
        ok = executed(report[0], argv[0], e);
        if (!ok)
            wait_for(c->pid);
    }
    if (!ok) {
        close_pair(in);
        close_pair(out);
        close_pair(report);
        child_init(c);
        return false;
    }
    close(report[0]);
    close(in[0]);
    close(out[1]);
    c->in = in[1];
    c->out = out[0];
    return true;
}

void child_ask(const struct child *c)
{
    if (c->pid > 0)
        kill(c->pid, SIGTERM);
}

static bool has_ended(pid_t pid)
{
    siginfo_t info = {0};

    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == pid;
}

void child_end(struct child *c, char how[CHILD_HOW_LEN])
{
    if (c->pid <= 0)
        return;
    // The child gets a moment to end by itself, and then it is killed. Until we wait for it, no
    // other process can get its pid or its group's.
    for (int i = 0; i < 50 && !has_ended(c->pid); i++)
        usleep(1000);
    kill(-c->pid, SIGKILL);
    int status = wait_for(c->pid);
    if (WIFSIGNALED(status))
        snprintf(how, CHILD_HOW_LEN, "by signal %d", WTERMSIG(status));
    else
        snprintf(how, CHILD_HOW_LEN, "with exit code %d", WEXITSTATUS(status));
    if (c->in >= 0)
        close(c->in);
    if (c->out >= 0)
        close(c->out);
    child_init(c);
}
