#include "scenario/mark.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include "os/paths.h"

#define HEAD "# mark: "

enum { KEY_LEN = 32, MAC_LEN = 32, LINE_LEN = sizeof HEAD - 1 + (size_t)2 * MAC_LEN + 1 };

// Fills in the path of the key in the user's folder for state; false when the environment names no
// such folder.
static bool find_mark_key(char out[PATH_MAX])
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    struct err ignored;

    if (state && *state == '/')
        return path_join(out, state, "mailproof/mark-key", &ignored);
    return home && *home == '/' &&
           path_join(out, home, ".local/state/mailproof/mark-key", &ignored);
}

// Reads the key that makes marks. False: there is none, or it is not a regular file that only this
// user can read.
static bool read_mark_key(const char *path, uint8_t key[KEY_LEN])
{
    struct stat st;
    // O_NONBLOCK, because opening a named pipe in the key's place would otherwise wait for a
    // writer.
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

    // A key that somebody else made or can read would let them make marks, too.
    bool ok = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
              (st.st_mode & 077) == 0 && read(fd, key, KEY_LEN) == KEY_LEN;
    if (fd >= 0)
        close(fd);
    return ok;
}

// Makes the random key with which this user's runs mark their scenarios (mark.h), unless the file
// exists. Without a key there are no marks, so failures are ignored.
static void make_mark_key(const char *path)
{
    uint8_t key[KEY_LEN];
    char temporary[PATH_MAX + 32];

    snprintf(temporary, sizeof temporary, "%s.%ld", path, (long)getpid());
    int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    bool ok = RAND_bytes(key, KEY_LEN) == 1 && write(fd, key, KEY_LEN) == KEY_LEN;
    ok = close(fd) == 0 && ok;
    // Another run may do the same at the same time. Unlike rename, link lets the first run win, so
    // that a mark which that run has made already stays valid.
    (void)(ok && link(temporary, path) == 0);
    unlink(temporary);
    OPENSSL_cleanse(key, sizeof key);
}

// Writes the mark of a text, a line without a NUL. False when the HMAC cannot be computed.
static bool make_line(const uint8_t key[KEY_LEN], const char *text, size_t len, char line[LINE_LEN])
{
    uint8_t mac[MAC_LEN];
    unsigned got = 0;

    if (!HMAC(EVP_sha256(), key, KEY_LEN, (const uint8_t *)text, len, mac, &got) || got != MAC_LEN)
        return false;
    size_t at = (size_t)sprintf(line, HEAD);
    for (size_t i = 0; i < MAC_LEN; i++)
        at += (size_t)sprintf(line + at, "%02x", mac[i]);
    line[at] = '\n'; // in place of the NUL
    return true;
}

void mark_append(struct buf *yaml)
{
    char path[PATH_MAX], line[LINE_LEN];
    uint8_t key[KEY_LEN];
    struct err ignored;

    if (yaml->failed || !find_mark_key(path))
        return;
    if (!path_exists(path) && path_make_parent(path, &ignored))
        make_mark_key(path);
    if (read_mark_key(path, key) && make_line(key, yaml->data, yaml->len, line))
        buf_append(yaml, line, LINE_LEN);
    OPENSSL_cleanse(key, sizeof key);
}

bool mark_is_valid(const char *text, size_t len)
{
    char path[PATH_MAX], line[LINE_LEN];
    uint8_t key[KEY_LEN];

    if (len < LINE_LEN || !find_mark_key(path))
        return false;
    size_t text_len = len - LINE_LEN;
    bool valid = read_mark_key(path, key) && make_line(key, text, text_len, line) &&
                 CRYPTO_memcmp(line, text + text_len, LINE_LEN) == 0;
    OPENSSL_cleanse(key, sizeof key);
    return valid;
}
