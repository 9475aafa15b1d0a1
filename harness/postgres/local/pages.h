// Makes pages that a power cut may tear. They belong to a table in the database `postgres`, where
// no run sees it.
//
// A torn page matters to recovery only if the page changed after the last finished checkpoint, and
// a cut tears a page only while the page is being written. So right before a cut all pages are
// changed after a checkpoint, and the cut comes while a second checkpoint writes them. A server
// with full_page_writes repairs torn pages; one without finds out by checksums that it cannot.
#pragma once

#include <libpq-fe.h>

#include "base/base.h"

#define PAGES 256
#define PAGE_BYTES 8192

struct pages {
    char path[PATH_MAX]; // path of the table's file; "": the pages were never changed
    unsigned version;    // number in the word that fills each page; it grows with each change
    PGconn *conn; // owned: the connection that changes and writes the pages until the cut; NULL:
                  // there is none
    bool writing; // the server has been told to write the changed pages
    unsigned char *before; // owned: the pages as they were before they changed; NULL: not read
};

// Writes the word that fills a changed page.
#define PAGES_WORD 9
void pages_word(const struct pages *p, char word[PAGES_WORD]);

// Makes the table.
MUST_USE bool pages_make(PGconn *conn, struct err *e);

// Makes a checkpoint and then changes all pages. On a server with fsync off it does neither. Takes
// over the connection in any case.
MUST_USE bool pages_change(struct pages *p, PGconn *conn, struct err *e);

// Lets the server write the changed pages, and does not wait for that. If the server has written
// all of them since the last call, changes them anew first. False when no pages were changed, or
// when the server is gone.
bool pages_write(struct pages *p);

// Counts the pages of which a part is as before the change and a part as after it, and then calls
// pages_fini; if no pages were changed, only sets *torn to 0. Call it after the cut, while the
// server is down.
MUST_USE bool pages_count_torn(struct pages *p, int *torn, struct err *e);

// Closes the connection and frees the pages. Accepts a zeroed struct.
void pages_fini(struct pages *p);
