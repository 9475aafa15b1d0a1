#include "subject/command.h"

#include <openssl/evp.h>
#include <sys/stat.h>

#include "os/paths.h"

// How many words of a command are examined: interpreter, script, and what they load.
#define WORDS_MAX 4
#define CHECKSUM_SHOWN 6 // how many bytes of a checksum are shown, each as two digits

// Finds the file that a word of a command names: a program without a slash in PATH, any other word
// in `dir`. False when there is none.
static bool find_file(char out[PATH_MAX], const char *word, const char *dir, bool is_program)
{
    struct stat st;

    if (is_program && !strchr(word, '/'))
        return path_program(out, getenv("PATH"), word);
    bool relative = dir && word[0] != '/';
    int len = snprintf(out, PATH_MAX, "%s%s%s", relative ? dir : "", relative ? "/" : "", word);
    return len < PATH_MAX && stat(out, &st) == 0 && S_ISREG(st.st_mode);
}

// Computes the SHA-256 of a file. False when the file cannot be read.
static bool file_checksum(const char *path, unsigned char *sum)
{
    FILE *file = fopen(path, "re");
    EVP_MD_CTX *digest = EVP_MD_CTX_new();
    unsigned char data[65536];
    size_t got = 0;

    bool ok = file && digest && EVP_DigestInit_ex(digest, EVP_sha256(), NULL) == 1;
    while (ok && (got = fread(data, 1, sizeof data, file)) > 0)
        ok = EVP_DigestUpdate(digest, data, got) == 1;
    ok = ok && !ferror(file) && EVP_DigestFinal_ex(digest, sum, NULL) == 1;
    EVP_MD_CTX_free(digest);
    if (file)
        fclose(file);
    return ok;
}

// Appends a file's name and the beginning of its checksum; nothing if it cannot be read.
static void append_file(char **text, const char *path)
{
    unsigned char sum[EVP_MAX_MD_SIZE];
    char shown[2 * CHECKSUM_SHOWN + 1];

    if (!file_checksum(path, sum))
        return;
    for (size_t i = 0; i < CHECKSUM_SHOWN; i++)
        snprintf(shown + 2 * i, 3, "%02x", sum[i]);
    char *longer =
        memory_format("%s%s%s sha256:%s", *text, **text ? ", " : "", path_name(path), shown);
    free(*text);
    *text = longer;
}

char *identity_of(char *const *argv, const char *dir, const char *before)
{
    char path[PATH_MAX], *text = memory_copy(before ? before : "");

    // In `python3 collector.py` the script is the tested program. Without the script's checksum,
    // two versions of it would look alike.
    for (size_t i = 0; argv && argv[i] && i < WORDS_MAX; i++) {
        if (find_file(path, argv[i], dir, i == 0))
            append_file(&text, path);
    }
    return text;
}
