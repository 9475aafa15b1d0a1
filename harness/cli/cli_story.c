// mailproof story: writes a token of a stored run, and what happened around it, as a story.
#include "cli/cli.h"
#include "options/options.h"
#include "os/interrupt.h"
#include "report/rejudge.h"
#include "story/story.h"

static bool write_story(const struct rejudge *r, const struct options *o, struct err *e)
{
    struct buf text FREED_BY(buf_fini) = BUF_INIT(64u << 20);
    uint32_t token;

    bool ok = rejudge_token(&r->history.ledger, o->token, &token, e) &&
              story_of_token(&r->scenario, &r->history, &r->result, token, &text, e);
    // From here on a signal does not end the program at once, because that could leave half a file.
    interrupt_exit_at_once(0);
    if (ok && o->output)
        ok = file_write("output", o->output, &text, e);
    else if (ok)
        fputs(buf_str(&text), stdout);
    return ok;
}

int cli_story(const struct options *o)
{
    struct rejudge *r FREED_BY(memory_free) = memory_zeroed(1, sizeof *r);
    struct err e = {0};

    bool ok = (o->args[0] && !o->args[1] && o->token) ||
              err_set(&e, ERR_USAGE, "story: name one result folder, and the token with --token");
    interrupt_exit_at_once(EXIT_SIGNAL);
    ok = ok && rejudge_scenario(r, o->args[0], &e) && rejudge_history(r, o->args[0], &e);
    if (ok)
        rejudge_judge(r);
    ok = ok && write_story(r, o, &e);
    rejudge_fini(r);
    return ok ? EXIT_OK : cli_fail(&e);
}
