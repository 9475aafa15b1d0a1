#include "base/utf8.h"

#include <stddef.h>
#include <string.h>

bool utf8_next(const char **text, uint32_t *character)
{
    // `more` is how many bytes follow the first one. A character below least[more] would fit into
    // fewer bytes.
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    const unsigned char *p = (const unsigned char *)*text;
    size_t more = *p < 0x80 ? 0 : *p < 0xe0 ? 1 : *p < 0xf0 ? 2 : 3;
    uint32_t c = more == 0 ? *p : *p & (0x3fu >> more);

    if ((*p >= 0x80 && *p < 0xc0) || *p >= 0xf8)
        return false;
    for (size_t i = 1; i <= more; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return false;
        c = c << 6 | (p[i] & 0x3f);
    }
    // Refuses forms that are longer than needed, surrogates, and numbers above the last character.
    if (c < least[more] || (c >= 0xd800 && c < 0xe000) || c > 0x10ffff)
        return false;
    *character = c;
    *text += c == 0 ? 0 : more + 1;
    return true;
}

bool utf8_valid(const char *text)
{
    uint32_t c = 0;

    do
        if (!utf8_next(&text, &c))
            return false;
    while (c != 0);
    return true;
}

// True for a character that shows nothing, but has an effect: it moves a terminal's cursor, or
// changes the order in which a line is shown.
static bool has_effect(uint32_t c)
{
    return c < ' ' || (c >= 0x7f && c < 0xa0) || c == 0x061c || c == 0x200e || c == 0x200f ||
           (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

void utf8_mend(char *text)
{
    uint32_t c = 0;

    while (*text) {
        const char *at = text;
        size_t len = utf8_next(&at, &c) ? (size_t)(at - text) : 1;
        if (at == text || has_effect(c)) // at == text: this byte is part of no character
            memset(text, '?', len);
        text += len;
    }
}

bool utf8_prints(uint32_t c)
{
    // Excludes two more line breaks, the byte order mark, and two codes that are not characters.
    return !has_effect(c) && c != 0x2028 && c != 0x2029 && c != 0xfeff && c != 0xfffe &&
           c != 0xffff;
}
