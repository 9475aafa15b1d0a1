// A record of everything that reached a disk: each write with its bytes, each flush with its time.
// With the record and an image of the disk at the record's beginning, the disk can be put into its
// state at any later moment.
//
// Only the program that wrote the file reads it, on the same machine, so entries stand in it as in
// memory.
#pragma once

#include "base/base.h"

enum logged_kind { LOGGED_WRITE = 1, LOGGED_FLUSH };

struct logged_entry {
    uint32_t kind;
    uint32_t length; // of a write: number of the bytes that follow the entry
    uint64_t offset;
    int64_t at_ns; // of a flush: when it is answered, on the monotonic clock
};

// Appends an entry; `data` has entry->length bytes.
MUST_USE bool write_log_append(
    FILE *f, const struct logged_entry *entry, const void *data, struct err *e);

// Reads the next entry into *entry, and its bytes into *data. The buffer *data is *size bytes long
// and grows as needed; it may begin as NULL with size 0, and the caller frees it. Sets `end` at the
// end of the file. An incomplete entry at the end is an error.
MUST_USE bool write_log_next(FILE *f, struct logged_entry *entry, unsigned char **data,
    size_t *size, bool *end, struct err *e);
