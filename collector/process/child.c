#include "process/child.h"

#include <sys/wait.h>

#include "base/program.h"
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

bool child_start(struct child *c, struct err *e)
{
    int in[2] = {-1, -1}, out[2] = {-1, -1};

    bool piped = (program_pipe(in) && program_pipe(out)) ||
                 err_sys(e, ERR_SYSTEM, "the pipes for the sender cannot be made");
    if (!piped || !launch_start(in[0], out[1], &c->pid, e)) {
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
    close(c->in);
    close(c->out);
    child_init(c);
    return code;
}
