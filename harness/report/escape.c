#include "report/escape.h"

#include <string.h>

void append_escaped(struct buf *out, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '&':
            buf_append_str(out, "&amp;");
            break;
        case '<':
            buf_append_str(out, "&lt;");
            break;
        case '>':
            buf_append_str(out, "&gt;");
            break;
        case '"':
            buf_append_str(out, "&quot;");
            break;
        default:
            // XML 1.0 allows no other control characters, not even escaped ones.
            buf_append_char(
                out, (char)((unsigned char)*text < 0x20 && *text != '\n' ? '?' : *text));
        }
    }
}

void append_url(struct buf *out, const char *path)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-._~/";

    for (; *path; path++) {
        if (strchr(plain, *path))
            buf_append_char(out, *path);
        else
            buf_printf(out, "%%%02X", (unsigned)(unsigned char)*path);
    }
}

const char *append_until(struct buf *out, const char *page, const char *mark)
{
    const char *at = strstr(page, mark);

    buf_append(out, page, (size_t)(at - page));
    return at + strlen(mark);
}

void append_word(struct buf *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./:=@%+,";

    if (*word && word[strspn(word, plain)] == '\0') {
        buf_append_str(out, word);
        return;
    }
    buf_append_char(out, '\'');
    for (; *word; word++) {
        if (*word == '\'')
            buf_append_str(out, "'\\''");
        else
            buf_append_char(out, *word);
    }
    buf_append_char(out, '\'');
}
