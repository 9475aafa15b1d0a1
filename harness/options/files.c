#include "options/options.h"

#include <sys/stat.h>

#include "os/paths.h"
#include "report/folder.h"

bool files_dated_folder(
    char *path, size_t size, const char *out, const char *command, struct err *e)
{
    char stamp[FOLDER_STAMP_LEN];

    folder_stamp(stamp);
    int len = snprintf(path, size, "%s/%s/%s", out, command, stamp);
    return len < (int)size || err_set(e, ERR_USAGE, "--out: the path is too long");
}

// Removes a file that was written in part, but never a pipe or a device. Keeps errno.
static void remove_partial_file(const char *path)
{
    int why = errno;
    struct stat st;

    if (lstat(path, &st) == 0 && S_ISREG(st.st_mode))
        unlink(path);
    errno = why;
}

bool file_write(const char *option, const char *path, const struct buf *text, struct err *e)
{
    if (text->failed)
        return err_set(e, ERR_INTERNAL, "--%s: too much for one file", option);
    if (!path_make_parent(path, e))
        return err_prefix(e, "--%s", option);
    FILE *file = fopen(path, "we");
    bool ok = file && fwrite(text->data, 1, text->len, file) == text->len;
    if (file && fclose(file) != 0)
        ok = false;
    if (file && !ok)
        remove_partial_file(path);
    return ok || err_sys(e, ERR_SYSTEM, "--%s: cannot write %.500s", option, path);
}

bool file_is_writable(const char *option, const char *path, struct err *e)
{
    struct stat there;
    FILE *file;

    // What exists is not opened as a test: a file would be emptied, and the reader of a pipe would
    // see its end.
    if (stat(path, &there) == 0) {
        if (!S_ISDIR(there.st_mode) && access(path, W_OK) == 0)
            return true;
        if (S_ISDIR(there.st_mode))
            errno = EISDIR;
    } else if ((file = fopen(path, "wxe"))) {
        fclose(file);
        unlink(path);
        return true;
    } else if (errno == EEXIST) {
        // A link to a file that is not there yet, which only the writing can try.
        return true;
    }
    if (errno == ENOENT && path_can_make_parent(path))
        return true;
    return err_sys(e, ERR_USAGE, "--%s: cannot write %.500s", option, path);
}
