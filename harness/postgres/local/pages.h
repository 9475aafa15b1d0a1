// Pages that a power cut may tear. Their table is in the server's own database, so no run sees it.
//
// Recovery needs a torn page only if the page changed after the last checkpoint that was finished,
// and a cut tears it only while it is being written. So right before a cut all pages are changed
// behind a checkpoint, and the cut comes while a second checkpoint writes them. A server that logs
// full pages repairs them; without full pages it finds, with checksums, that it cannot.
#pragma once

#include <libpq-fe.h>
#include <limits.h>

#include "base/err.h"

#define PAGES 256
#define PAGE_BYTES 8192

struct pages {
    char path[PATH_MAX];   // the table's file; "": the pages were not changed
    unsigned version;      // what each page holds says this number
    PGconn *conn;          // changes and writes the pages, until the cut; NULL: nobody does
    bool writes;           // the server is writing them
    unsigned char *before; // owned: the pages as they were before they changed; NULL: not read
};

// Sets the word of which a changed page is full.
#define PAGES_WORD 9
void pages_word(const struct pages *p, char word[PAGES_WORD]);

// Makes the table.
MUST_USE bool pages_make(PGconn *conn, struct err *e);

// Changes all pages behind a checkpoint. It does nothing to a server without fsync. Takes the
// connection in any case.
MUST_USE bool pages_change(struct pages *p, PGconn *conn, struct err *e);

// Lets the server write the changed pages, and does not wait for it. When it has written them all,
// the next call changes them anew. False: there are none, or the server is gone.
bool pages_write(struct pages *p);

// Counts the pages that hold a part of what they were and a part of what they became. Call it after
// the cut, while the server is down.
MUST_USE bool pages_count_torn(struct pages *p, int *torn, struct err *e);

// Ends the writing, if the cut has not done so. Accepts a zeroed struct.
void pages_fini(struct pages *p);
