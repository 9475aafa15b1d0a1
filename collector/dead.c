#include "dead.h"

#include <inttypes.h>

bool dead_init(struct dead *d, const struct batch *b)
{
    const char *comma = "";

    d->any = false;
    buf_init(&d->tokens, SIZE_MAX);
    buf_init(&d->reasons, SIZE_MAX);
    buf_append_char(&d->tokens, '{');
    buf_append_char(&d->reasons, '{');
    for (int i = 0; i < b->n; i++) {
        const struct row *row = &b->rows[i];
        if (!row->unsendable)
            continue;
        buf_printf(&d->tokens, "%s%" PRId64, comma, row->token.id);
        buf_printf(&d->reasons, "%s\"%s\"", comma, row->unsendable);
        comma = ",";
        d->any = true;
    }
    buf_append(&d->tokens, "}", 2);
    buf_append(&d->reasons, "}", 2);
    return !d->tokens.failed && !d->reasons.failed;
}

void dead_fini(struct dead *d)
{
    buf_fini(&d->tokens);
    buf_fini(&d->reasons);
}
