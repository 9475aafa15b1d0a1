#include "postgres/local/pages.h"

#include <fcntl.h>

#include "postgres/sql.h"

#define SECTOR 512
#define WORDS "450" // words of eight bytes in each row

// A row fills almost half of its page, so that the row's next version fits into the same page.
// PLAIN: the server does not compress it.
static const char make_sql[] = "CREATE TABLE IF NOT EXISTS mailproof_pages (words text)"
                               " WITH (fillfactor = 50, autovacuum_enabled = off);"
                               "ALTER TABLE mailproof_pages ALTER COLUMN words SET STORAGE PLAIN;"
                               "TRUNCATE mailproof_pages;"
                               "INSERT INTO mailproof_pages"
                               " SELECT repeat('p0000000', " WORDS ") FROM generate_series(1, 256)";

static const char path_sql[] = "SELECT current_setting('data_directory') || '/' ||"
                               " pg_relation_filepath('mailproof_pages')";

// A complete row has at least so many sectors in which two of its words stand side by side.
enum { SECTORS_OF_ROW = 7 };

bool pages_make(PGconn *conn, struct err *e)
{
    return sql_exec(conn, make_sql, e);
}

// Reads the first PAGES pages of the file, which the caller frees. NULL with the reason.
static unsigned char *read_pages(const char *path, struct err *e)
{
    const size_t size = (size_t)PAGES * PAGE_BYTES;
    unsigned char *bytes = memory_allocate(size);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? pread(fd, bytes, size, 0) : -1;

    if (got != (ssize_t)size)
        err_sys(e, ERR_SYSTEM, "cannot read %s", path);
    if (fd >= 0)
        close(fd);
    if (got == (ssize_t)size)
        return bytes;
    free(bytes);
    return NULL;
}

// Makes a checkpoint, copies the pages as they are in the file, and changes them, over p->conn.
static bool change_pages(struct pages *p, struct err *e)
{
    char sql[120], word[PAGES_WORD];

    p->version++;
    pages_word(p, word);
    snprintf(sql, sizeof sql, "UPDATE mailproof_pages SET words = repeat('%s', " WORDS ")", word);
    free(p->before);
    p->before = NULL;
    p->writing = false;
    if (!sql_value(p->conn, path_sql, p->path, sizeof p->path, e) ||
        !sql_exec(p->conn, "CHECKPOINT", e))
        return false;
    p->before = read_pages(p->path, e);
    return p->before && sql_exec(p->conn, sql, e);
}

bool pages_change(struct pages *p, PGconn *conn, struct err *e)
{
    char fsync[8];

    pages_fini(p);
    p->conn = conn;
    // Without fsync a cut may take anything, even what was there before a checkpoint, such as the
    // catalog. Torn pages would show nothing then, so no page is changed.
    return sql_value(conn, "SHOW fsync", fsync, sizeof fsync, e) &&
           (strcmp(fsync, "on") != 0 || change_pages(p, e));
}

// True when the server has finished the checkpoint, and so has written all pages.
static bool is_checkpoint_done(struct pages *p)
{
    if (!PQconsumeInput(p->conn) || PQisBusy(p->conn))
        return false;
    for (PGresult *r; (r = PQgetResult(p->conn));)
        PQclear(r);
    return true;
}

bool pages_write(struct pages *p)
{
    struct err gone;

    if (!p->before || PQstatus(p->conn) != CONNECTION_OK)
        return false;
    if (p->writing && !is_checkpoint_done(p))
        return true;
    if (p->writing && !change_pages(p, &gone))
        return false;
    p->writing = PQsendQuery(p->conn, "CHECKPOINT") == 1;
    return p->writing;
}

void pages_word(const struct pages *p, char word[PAGES_WORD])
{
    snprintf(word, PAGES_WORD, "p%07u", p->version % 10000000);
}

// True when a part of the page changed and a part did not. A page that changed as a whole has a new
// first sector, and the new word in all sectors of its row.
static bool is_page_torn(
    const struct pages *p, const unsigned char *before, const unsigned char *after)
{
    char word[PAGES_WORD], words[2 * PAGES_WORD];
    int changed = 0, new = 0;

    pages_word(p, word);
    snprintf(words, sizeof words, "%s%s", word, word);
    for (size_t at = 0; at < PAGE_BYTES; at += SECTOR) {
        // SECTORS_OF_ROW, too, counts the sectors with two words side by side.
        changed += memcmp(before + at, after + at, SECTOR) != 0;
        new += memmem(after + at, SECTOR, words, strlen(words)) != NULL;
    }
    // Each change of a page also changes its first sector, which has the place of the change in the
    // WAL.
    bool first_is_new = memcmp(before, after, SECTOR) != 0;
    return changed > 0 && (!first_is_new || new < SECTORS_OF_ROW);
}

bool pages_count_torn(struct pages *p, int *torn, struct err *e)
{
    *torn = 0;
    if (!p->before)
        return true;
    unsigned char *after FREED_BY(memory_free) = read_pages(p->path, e);
    for (size_t i = 0; after && i < PAGES; i++)
        *torn += is_page_torn(p, p->before + i * PAGE_BYTES, after + i * PAGE_BYTES);
    bool ok = after != NULL;
    pages_fini(p);
    return ok;
}

void pages_fini(struct pages *p)
{
    PQfinish(p->conn);
    free(p->before);
    p->conn = NULL;
    p->before = NULL;
}
