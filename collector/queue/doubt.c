#include "queue/doubt.h"

struct doubtful {
    int64_t id;
    uint8_t secret[SIGN_SECRET_LEN];
    bool marked;
};

bool doubt_add(struct doubt *d, const struct token *t, struct err *e)
{
    assert(t->secret.len == SIGN_SECRET_LEN); // every token that was written has a secret
    if (d->n == d->room) {
        int room = d->room ? 2 * d->room : 64;
        struct doubtful *all = realloc(d->all, (size_t)room * sizeof *all);
        if (!all)
            return err_memory(e);
        d->all = all;
        d->room = room;
    }
    struct doubtful *new = &d->all[d->n++];
    *new = (struct doubtful){.id = t->id};
    memcpy(new->secret, t->secret.data, SIGN_SECRET_LEN);
    return true;
}

// Orders by id and, within one id, by secret: after a failover two tokens may have the same id.
static int by_id(const void *x, const void *y)
{
    const struct doubtful *a = x, *b = y;

    if (a->id != b->id)
        return a->id < b->id ? -1 : 1;
    return memcmp(a->secret, b->secret, SIGN_SECRET_LEN);
}

void doubt_close(struct doubt *d)
{
    if (d->n > 0)
        qsort(d->all, (size_t)d->n, sizeof *d->all, by_id);
}

// Returns the entry of this token; NULL: it is not in doubt.
static struct doubtful *find_in_doubt(const struct doubt *d, const struct token *t)
{
    struct doubtful key = {.id = t->id}; // by_id compares the secret, too

    // A token whose secret has another length was never written.
    if (d->n == 0 || t->secret.len != SIGN_SECRET_LEN)
        return NULL;
    memcpy(key.secret, t->secret.data, SIGN_SECRET_LEN);
    return bsearch(&key, d->all, (size_t)d->n, sizeof *d->all, by_id);
}

bool doubt_has(const struct doubt *d, const struct token *t)
{
    return find_in_doubt(d, t) != NULL;
}

void doubt_mark(struct doubt *d, const struct token *t)
{
    struct doubtful *known = find_in_doubt(d, t);

    if (known)
        known->marked = true;
}

// Keeps only the tokens that are marked, or only those that are not. None is marked afterwards.
static void keep(struct doubt *d, bool marked)
{
    int kept = 0;

    for (int i = 0; i < d->n; i++)
        if (d->all[i].marked == marked) {
            d->all[kept] = d->all[i];
            d->all[kept++].marked = false;
        }
    d->n = kept;
    if (kept == 0)
        doubt_clear(d);
}

void doubt_drop_marked(struct doubt *d)
{
    keep(d, false);
}

void doubt_keep_marked(struct doubt *d)
{
    keep(d, true);
}

void doubt_clear(struct doubt *d)
{
    free(d->all);
    *d = (struct doubt){0};
}

void doubt_add_ids(const struct doubt *d, struct buf *array)
{
    for (int i = 0; i < d->n; i++)
        buf_printf(array, "%s%" PRId64, array->len > 1 ? "," : "", d->all[i].id);
}
