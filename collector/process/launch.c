#include "process/launch.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "base/program.h"

// The collector sends one of these orders: start the sender, ask it to end, or end it. START brings
// two descriptors (`files`), the sender's input and output.
enum order { START, ASK_TO_END, END };

struct launch_reply {
    int value; // START: 0, or the errno of what failed; END: how the sender ended
    pid_t pid; // the sender's; 0: none was started since the last END
};

static struct {
    int fd; // our end of the socket
    const char *program;
} launcher = {.fd = -1};

static bool close_on_exec(int fd)
{
    return fcntl(fd, F_SETFD, FD_CLOEXEC) == 0;
}

// --- the launcher's side ------------------------------------------------------------------

// True for a setting of the collector or of libpq. These name the database, and may have its
// password or the key that signs. A sender needs none of them.
static bool is_private(const char *variable)
{
    return strncmp(variable, "MAILROOM_", 9) == 0 || strncmp(variable, "PG", 2) == 0;
}

// Removes the private variables from the environment, and wipes their values.
static void drop_private(void)
{
    size_t kept = 0;

    for (size_t i = 0; environ[i]; i++) {
        if (is_private(environ[i]))
            explicit_bzero(environ[i], strlen(environ[i]));
        else
            environ[kept++] = environ[i];
    }
    environ[kept] = NULL;
}

// Becomes the sender, in the process that fork has made. If the command cannot be executed, writes
// the errno to `report`, and ends. It makes only calls that are safe between fork and exec.
static void exec_command(char *const command[], const int files[2], int report)
{
    struct sigaction usual = {.sa_handler = SIG_DFL};
    static const int changed[] = {SIGPIPE, SIGXFSZ, SIGTERM, SIGINT}; // we may ignore these

    setpgid(0, 0); // a group of its own, which Ctrl-C does not reach
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGTERM); // when the launcher dies
#endif
    for (size_t i = 0; i < sizeof changed / sizeof changed[0]; i++)
        sigaction(changed[i], &usual, NULL);
    if (dup2(files[0], STDIN_FILENO) >= 0 && dup2(files[1], STDOUT_FILENO) >= 0)
        execvp(command[0], command);
    int why = errno;
    ssize_t ignored = write(report, &why, sizeof why);
    (void)ignored;
    _exit(127);
}

// Waits for the end of a process, and returns its status.
static int wait_for(pid_t pid)
{
    int status = 0;

    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

// Starts the command. Returns 0 and sets *pid, or returns the errno of what failed, with *pid 0.
static int start_command(char *const command[], const int files[2], pid_t *pid)
{
    int report[2], why = 0;
    ssize_t n;

    if (!program_pipe(report))
        return errno;
    *pid = fork();
    if (*pid == 0)
        exec_command(command, files, report[1]);
    if (*pid < 0)
        why = errno;
    // The child has the only other copy of this end, and exec closes that. So the read finds the
    // pipe's end when the program runs, and an errno when it does not.
    close(report[1]);
    do
        n = read(report[0], &why, sizeof why);
    while (n < 0 && errno == EINTR);
    close(report[0]);
    if (*pid > 0 && why != 0)
        wait_for(*pid);
    if (why != 0)
        *pid = 0;
    return why;
}

// True when the process has ended; it is not waited for, so its pid stays taken.
static bool has_ended(pid_t pid)
{
    siginfo_t info = {0};

    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == pid;
}

// Gives the sender 50 ms to end by itself, then kills its process group. Returns how it ended, as a
// status of waitpid. The pid is free for others only once we have waited for it, so the kill meets
// no other group.
static int end_command(pid_t pid)
{
    for (int i = 0; i < 50 && !has_ended(pid); i++)
        usleep(1000);
    kill(-pid, SIGKILL);
    return wait_for(pid);
}

// Receives an order, and with START two descriptors. False: the collector is gone.
static bool receive_order(int fd, char *order, int files[2])
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(2 * sizeof(int))];
    } control;
    struct iovec part = {order, 1};
    struct msghdr m = {.msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = &control,
        .msg_controllen = sizeof control};
    ssize_t n;

    do
        n = recvmsg(fd, &m, 0);
    while (n < 0 && errno == EINTR);
    if (n != 1)
        return false;
    const struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    files[0] = files[1] = -1;
    if (c && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(2 * sizeof(int)))
        memcpy(files, CMSG_DATA(c), 2 * sizeof(int));
    // Some systems lack MSG_CMSG_CLOEXEC, so the flag is set here. No fork can come before that,
    // because the launcher does one thing at a time.
    return files[0] < 0 || (close_on_exec(files[0]) && close_on_exec(files[1]));
}

// Obeys the collector's orders until the collector is gone, and then ends the launcher. reply.pid
// is above 0 from START to END, even if the sender has ended by itself.
static void run_launcher(int fd, char *const command[])
{
    struct launch_reply reply = {0};
    char order;
    int files[2];

    while (receive_order(fd, &order, files)) {
        // ASK_TO_END gets no answer, because the collector is stopping and must not wait.
        if (order == ASK_TO_END && reply.pid > 0)
            kill(reply.pid, SIGTERM);
        if (order == ASK_TO_END)
            continue;
        if (order == START && reply.pid == 0 && files[1] >= 0) {
            reply.value = start_command(command, files, &reply.pid);
        } else if (order == END && reply.pid > 0) {
            reply.value = end_command(reply.pid);
            reply.pid = 0;
        } else {
            break;
        }
        // The sender has its own copies of these descriptors. If ours stayed open, the collector
        // would not see the end of the answers when the sender dies.
        for (int i = 0; i < 2; i++)
            if (files[i] >= 0)
                close(files[i]);
        if (send(fd, &reply, sizeof reply, 0) != sizeof reply)
            break;
    }
    // The collector has gone, or sends orders that make no sense. Nobody reads the sender's answers
    // any more.
    if (reply.pid > 0)
        kill(reply.pid, SIGTERM);
    _exit(0);
}

// --- the collector's side -----------------------------------------------------------------

bool launch_open(char *const command[], struct err *e)
{
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0 || !close_on_exec(pair[0]) ||
        !close_on_exec(pair[1]))
        return err_sys(e, ERR_SYSTEM, "the socket of the launcher cannot be made");
    pid_t pid = fork();
    if (pid == 0) {
        close(pair[0]);
        // A terminal or a service manager sends its signal to all our processes. The launcher
        // ignores the signal: the collector still needs the sender then, and ends the sender.
        signal(SIGTERM, SIG_IGN);
        signal(SIGINT, SIG_IGN);
        signal(SIGPIPE, SIG_IGN);
        drop_private();
#ifdef __linux__
        prctl(PR_SET_NAME, "mailroom-launch");
#endif
        run_launcher(pair[1], command);
    }
    close(pair[1]);
    if (pid < 0) {
        close(pair[0]);
        return err_sys(e, ERR_SYSTEM, "the launcher cannot be started");
    }
    launcher.fd = pair[0];
    launcher.program = command[0];
    return true;
}

// Sends an order, and the two descriptors if `files` is not NULL. False: the launcher is gone.
static bool send_order(enum order order, const int files[2])
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(2 * sizeof(int))];
    } control = {0};
    char byte = (char)order;
    // The order is a byte of data, without which descriptors would not travel.
    struct iovec part = {&byte, 1};
    struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
    ssize_t n;

    if (files) {
        m.msg_control = &control;
        m.msg_controllen = sizeof control;
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        *c = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
            .cmsg_type = SCM_RIGHTS,
            .cmsg_len = CMSG_LEN(2 * sizeof(int))};
        memcpy(CMSG_DATA(c), files, 2 * sizeof(int));
    }
    do
        n = sendmsg(launcher.fd, &m, 0);
    while (n < 0 && errno == EINTR);
    return n == 1;
}

// Waits for the launcher's reply. False: the launcher is gone.
static bool receive_reply(struct launch_reply *reply)
{
    ssize_t n;

    do
        n = recv(launcher.fd, reply, sizeof *reply, MSG_WAITALL);
    while (n < 0 && errno == EINTR);
    return n == sizeof *reply;
}

bool launch_start(int in, int out, pid_t *pid, struct err *e)
{
    struct launch_reply reply;

    if (!send_order(START, (int[2]){in, out}) || !receive_reply(&reply))
        return err_set(e, ERR_SYSTEM, "the launcher of the sender was ended");
    if (reply.value != 0) {
        // The machine may lack processes or memory for a while; the command is not wrong then.
        bool passes = reply.value == EAGAIN || reply.value == ENOMEM || reply.value == EMFILE ||
                      reply.value == ENFILE;
        errno = reply.value;
        return err_sys(e, passes ? ERR_SYSTEM : ERR_USAGE, "the sender '%s' cannot be executed",
            launcher.program);
    }
    *pid = reply.pid;
    return true;
}

void launch_ask_to_end(void)
{
    (void)send_order(ASK_TO_END, NULL);
}

int launch_end(void)
{
    struct launch_reply reply;

    // If the launcher was ended, the kernel has told the sender to end. As a status of waitpid,
    // SIGTERM says that this signal ended it.
    return send_order(END, NULL) && receive_reply(&reply) ? reply.value : SIGTERM;
}
