#include "dead.h"

#include <inttypes.h>

bool dead_init(struct dead *d, const struct batch *b)
{
    struct buf *all[] = {&d->tokens, &d->accounts, &d->actions, &d->reasons};
    const size_t columns = sizeof all / sizeof *all;
    const char *comma = "";

    for (size_t i = 0; i < columns; i++) {
        buf_init(all[i], SIZE_MAX);
        buf_append_char(all[i], '{');
    }
    for (int i = 0; i < b->n; i++) {
        const struct row *row = &b->rows[i];
        if (!row->unsendable)
            continue;
        buf_printf(&d->tokens, "%s%" PRId64, comma, row->token.id);
        buf_printf(&d->accounts, "%s%" PRId64, comma, row->token.account);
        buf_printf(&d->actions, "%s%s", comma,
            row->token.action == TOKEN_ACTIVATION ? "activation" : "password_recovery");
        buf_printf(&d->reasons, "%s\"%s\"", comma, row->unsendable);
        comma = ",";
    }
    bool ok = true;
    for (size_t i = 0; i < columns; i++)
        ok = buf_append(all[i], "}", 2) && !all[i]->failed && ok;
    return ok;
}

void dead_fini(struct dead *d)
{
    buf_fini(&d->tokens);
    buf_fini(&d->accounts);
    buf_fini(&d->actions);
    buf_fini(&d->reasons);
}
