#include "wire/answer.h"

#define LINE_MOST (INT64_MAX / 100) // take_number reads one digit more without an overflow
#define PLACE_MOST 1000000          // no batch limit is as large

// Reads a number from 1 to `most`, without sign or leading zero, and moves *at past it. False:
// there is none.
static bool take_number(const char **at, const char *end, int64_t most, int64_t *number)
{
    const char *from = *at;

    *number = 0;
    while (*at < end && **at >= '0' && **at <= '9') {
        *number = *number * 10 + (**at - '0');
        if (*number > most)
            return false;
        (*at)++;
    }
    return *at > from && *from != '0';
}

// Moves *at past this word. False: the word is not there.
static bool take_word(const char **at, const char *end, const char *word)
{
    size_t len = strlen(word);

    if ((size_t)(end - *at) < len || memcmp(*at, word, len) != 0)
        return false;
    *at += len;
    return true;
}

// Reads the rest of the answer, which is a blank and a text, or nothing. False: it is something
// else.
static bool take_text(struct answer *a, const char *at, const char *end)
{
    size_t n = 0;

    if (at < end && *at++ != ' ')
        return false;
    for (; at < end && n < ANSWER_TEXT_MAX; at++)
        a->text[n++] = (char)(*at < 0x20 || *at > 0x7e ? '?' : *at);
    a->text[n] = '\0';
    return true;
}

bool answer_parse(struct answer *a, const char *line, size_t len, const char **why)
{
    const char *at = line, *end = line + len;
    int64_t place = 0;

    *a = (struct answer){0};
    // *why is set before each check, so that it tells which check has failed.
    *why = "it does not begin with a line's number";
    if (!take_number(&at, end, LINE_MOST, &a->line))
        return false;
    *why = "a token's place is a number from 1 on";
    if (take_word(&at, end, ".") && !take_number(&at, end, PLACE_MOST, &place))
        return false;
    a->place = (int)place;
    *why = "'sent', 'error transient' or 'error permanent' must follow the number";
    if (take_word(&at, end, " sent")) {
        a->kind = ANSWER_SENT;
        // A success has no text. If one follows, the sender speaks another format.
        return at == end;
    }
    if (take_word(&at, end, " error transient"))
        a->kind = ANSWER_TRANSIENT;
    else if (take_word(&at, end, " error permanent"))
        a->kind = ANSWER_PERMANENT;
    else
        return false;
    return take_text(a, at, end);
}
