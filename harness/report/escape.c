#include "report/escape.h"

#include <strings.h>

#include "base/utf8.h"

// True for a character that is shown as it is. XML 1.0 forbids U+FFFE, U+FFFF and most control
// characters below a blank, even escaped. A byte that is no UTF-8 comes here as 0.
static bool is_allowed(uint32_t c)
{
    return (c >= ' ' || c == '\n') && c != 0xfffe && c != 0xffff;
}

void append_escaped(struct buf *out, const char *text)
{
    while (*text) {
        const char *begin = text;
        uint32_t c = 0;
        // A byte that is no UTF-8 becomes one question mark, and the text goes on after it.
        if (!utf8_next(&text, &c))
            text++;
        if (c == '&')
            buf_append_str(out, "&amp;");
        else if (c == '<')
            buf_append_str(out, "&lt;");
        else if (c == '>')
            buf_append_str(out, "&gt;");
        else if (c == '"')
            buf_append_str(out, "&quot;");
        else if (is_allowed(c))
            buf_append(out, begin, (size_t)(text - begin));
        else
            buf_append_char(out, '?');
    }
}

// True when Markdown would not show the character `at` of the text as it is.
static bool acts_in_markdown(const char *text, const char *at)
{
    if (strchr("\\`*_[]<>|~&!$", *at))
        return true;
    // At the start of a line, a heading, a list or a rule could begin.
    if (at == text)
        return strchr("#+-=", *at) != NULL;
    if (at == text + strspn(text, "0123456789"))
        return *at == '.' || *at == ')';
    // Without this backslash GitHub makes a link of a bare address, and shows the other backslashes
    // that are in it.
    return strncmp(at, "://", 3) == 0 ||
           (*at == '.' && at - text >= 3 && strncasecmp(at - 3, "www", 3) == 0);
}

void append_markdown(struct buf *out, const char *text)
{
    // Blanks at the start of a line could begin a block of code.
    if (*text == ' ' || *text == '\t')
        buf_printf(out, "&#%d;", *text++);
    for (const char *at = text; *at; at++) {
        if (acts_in_markdown(text, at))
            buf_append_char(out, '\\');
        buf_append_char(out, *at == '\n' ? ' ' : *at);
    }
}

void append_markdown_url(struct buf *out, const char *url)
{
    if (strstr(url, "://") && url[strcspn(url, " \t<>")] == '\0')
        buf_printf(out, "<%s>", url);
    else
        append_markdown(out, url);
}

void append_code(struct buf *out, const char *text)
{
    size_t longest = 0;

    // A run of as many backticks as the span begins with would end it, so the span begins with one
    // more than the longest run in the text.
    const char *at = text + strcspn(text, "`");
    while (*at) {
        size_t run = strspn(at, "`");
        longest = run > longest ? run : longest;
        at += run;
        at += strcspn(at, "`");
    }
    for (size_t i = 0; i <= longest; i++)
        buf_append_char(out, '`');
    // Blanks keep backticks at the ends of the text apart from those of the span; a renderer drops
    // these blanks.
    buf_printf(out, longest ? " %s " : "%s", text);
    for (size_t i = 0; i <= longest; i++)
        buf_append_char(out, '`');
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
        // A quote inside of quotes: end them, write an escaped quote, begin them again.
        if (*word == '\'')
            buf_append_str(out, "'\\''");
        else
            buf_append_char(out, *word);
    }
    buf_append_char(out, '\'');
}
