#include "doubt.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct doubtful {
    int64_t id;
    uint8_t secret[SIGN_SECRET_LEN];
};

bool doubt_add(struct doubt *d, const struct token *t, struct err *e)
{
    assert(t->secret.len == SIGN_SECRET_LEN); // what was written has one
    if (d->n == d->room) {
        int room = d->room ? 2 * d->room : 64;
        struct doubtful *all = realloc(d->all, (size_t)room * sizeof *all);
        if (!all)
            return err_sys(e, ERR_SYSTEM, "no memory for the tokens of a lost session");
        d->all = all;
        d->room = room;
    }
    struct doubtful *new = &d->all[d->n++];
    new->id = t->id;
    memcpy(new->secret, t->secret.data, SIGN_SECRET_LEN);
    return true;
}

static int compare(const void *x, const void *y)
{
    const struct doubtful *a = x, *b = y;

    if (a->id != b->id)
        return a->id < b->id ? -1 : 1;
    return memcmp(a->secret, b->secret, SIGN_SECRET_LEN);
}

void doubt_close(struct doubt *d, struct doubt_move move)
{
    d->batches++;
    d->move = move;
    if (d->n > 0)
        qsort(d->all, (size_t)d->n, sizeof *d->all, compare);
}

bool doubt_has(const struct doubt *d, const struct token *t)
{
    struct doubtful key = {.id = t->id};

    if (d->n == 0 || t->secret.len != SIGN_SECRET_LEN)
        return false;
    memcpy(key.secret, t->secret.data, SIGN_SECRET_LEN);
    return bsearch(&key, d->all, (size_t)d->n, sizeof *d->all, compare) != NULL;
}

void doubt_claimed(struct doubt *d, int64_t epoch, int64_t n)
{
    if (d->batches == 1 && d->move.n > 0 && epoch == d->move.epoch + 1 && n == d->move.n + 1)
        doubt_clear(d);
}

void doubt_clear(struct doubt *d)
{
    free(d->all);
    *d = (struct doubt){0};
}
