#include "addresses.h"

#include "base/base.h"

void addresses_fini(struct addresses *a)
{
    for (size_t i = 0; a->table && i < ADDRESSES; i++) {
        free(a->table[i].key);
        free(a->table[i].value);
    }
    free(a->table);
    *a = (struct addresses){0};
}

// Returns the entry of a key, or the free entry where the key belongs. The hash is FNV-1a; from its
// place on, the entries are searched one after the other.
static struct address *place_of(const struct addresses *a, const char *key)
{
    uint32_t hash = 2166136261u;

    for (const char *p = key; *p; p++)
        hash = (hash ^ (unsigned char)*p) * 16777619u;
    while (a->table[hash % ADDRESSES].key && strcmp(a->table[hash % ADDRESSES].key, key) != 0)
        hash++;
    return &a->table[hash % ADDRESSES];
}

const char *addresses_first(struct addresses *a, const char *key, const char *value)
{
    if (!a->table)
        a->table = memory_zeroed(ADDRESSES, sizeof *a->table);
    struct address *at = place_of(a, key);
    if (at->key)
        return at->value;
    // The table must keep free entries, because place_of searches up to one.
    if (a->count >= (size_t)ADDRESSES / 4 * 3)
        return value;
    *at = (struct address){memory_copy(key), memory_copy(value)};
    a->count++;
    return value;
}

const char *addresses_find(const struct addresses *a, const char *key, const char *other)
{
    const struct address *at = a->table ? place_of(a, key) : NULL;

    return at && at->key ? at->value : other;
}

bool addresses_read(struct addresses *a, struct session *s, struct err *e)
{
    static const char sql[] =
        "SELECT id, login, email FROM accounts WHERE id > $1::bigint ORDER BY id";
    // The address of an account is kept when the account is first read, however it changes later.
    const char *params[] = {*a->last_id ? a->last_id : "0"};
    PGresult *rows;

    if (!session_query(s, sql, 1, params, &rows, e))
        return false;
    int count = PQntuples(rows);
    for (int i = 0; i < count; i++)
        addresses_first(a, PQgetvalue(rows, i, 1), PQgetvalue(rows, i, 2));
    if (count > 0)
        snprintf(a->last_id, sizeof a->last_id, "%s", PQgetvalue(rows, count - 1, 0));
    PQclear(rows);
    return true;
}
