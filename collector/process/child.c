#include "process/child.h"

#include <fcntl.h>
#include <sys/wait.h>

#include "process/launch.h"

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

// Makes both pipes of the sender. On failure the caller closes the ends that are not -1.
static bool make_pipes(int in[2], int out[2], struct err *e)
{
    int *const all[] = {in, out};

    for (int i = 0; i < 2; i++) {
        if (pipe(all[i]) != 0)
            return err_sys(e, ERR_SYSTEM, "the pipes for the sender cannot be made");
        for (int k = 0; k < 2; k++)
            if (fcntl(all[i][k], F_SETFD, FD_CLOEXEC) != 0)
                return err_sys(e, ERR_SYSTEM, "the pipes for the sender cannot be made");
    }
    return true;
}

bool child_start(struct child *c, struct err *e)
{
    int in[2] = {-1, -1}, out[2] = {-1, -1};

    if (!make_pipes(in, out, e) || !launch_start(in[0], out[1], &c->pid, e)) {
        close_pair(in);
        close_pair(out);
        child_init(c);
        return false;
    }
    // The sender has its own copies of these ends. Ours would hide that it has closed its output.
    close(in[0]);
    close(out[1]);
    c->in = in[1];
    c->out = out[0];
    return true;
}

void child_ask_to_end(const struct child *c)
{
    if (c->pid > 0)
        launch_ask_to_end();
}

int child_end(struct child *c, char how[CHILD_HOW_LEN])
{
    if (c->pid <= 0)
        return -1;
    int status = launch_end();
    int code = WIFSIGNALED(status) ? -1 : WEXITSTATUS(status);
    if (code < 0)
        snprintf(how, CHILD_HOW_LEN, "by signal %d", WTERMSIG(status));
    else
        snprintf(how, CHILD_HOW_LEN, "with exit code %d", code);
    if (c->in >= 0)
        close(c->in);
    if (c->out >= 0)
        close(c->out);
    child_init(c);
    return code;
}
