#include "disk/write_log.h"

// A longer entry means that the file is damaged: the disk's largest write, 1 MB, is far shorter.
#define LENGTH_MAX (64u << 20)

bool write_log_append(FILE *f, const struct logged_entry *entry, const void *data, struct err *e)
{
    bool ok = fwrite(entry, sizeof *entry, 1, f) == 1 &&
              (entry->length == 0 || fwrite(data, entry->length, 1, f) == 1);

    return ok || err_sys(e, ERR_SYSTEM, "cannot write the disk's record");
}

// Says why an entry could not be read: an error of the file, or its end. Returns false.
static bool refuse_entry(FILE *f, struct err *e)
{
    return ferror(f) ? err_sys(e, ERR_SYSTEM, "cannot read the disk's record")
                     : err_set(e, ERR_SYSTEM, "the disk's record ends within an entry");
}

bool write_log_next(FILE *f, struct logged_entry *entry, unsigned char **data, size_t *size,
    bool *end, struct err *e)
{
    size_t got = fread(entry, 1, sizeof *entry, f);

    *end = got == 0 && feof(f);
    if (*end)
        return true;
    if (got != sizeof *entry)
        return refuse_entry(f, e);
    if (entry->length > LENGTH_MAX)
        return err_set(e, ERR_SYSTEM, "the disk's record holds an impossible length");
    // All entries share one buffer, as large as the largest needs; most have the same length.
    if (entry->length > *size) {
        free(*data);
        *data = memory_allocate(entry->length);
        *size = entry->length;
    }
    return entry->length == 0 || fread(*data, entry->length, 1, f) == 1 || refuse_entry(f, e);
}
