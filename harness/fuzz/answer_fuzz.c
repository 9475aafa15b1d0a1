// Each line of a sender either is an answer, and then says exactly what was read, or is refused
// with a reason. The parser guesses nothing and accepts only what the grammar allows. It must
// accept all that the grammar plainly allows.
#include <regex.h>

#include "fuzz/fuzz.h"
#include "wire/answer.h"

// A part of the grammar. Numbers that match are certainly below the limits.
static const char grammar[] = "^[1-9][0-9]{0,15}([.][1-9][0-9]{0,5})?"
                              "( sent| error (transient|permanent)( .*)?)$";

static bool is_allowed(const char *line)
{
    static regex_t regex; // compiled once for all inputs
    static bool made;

    FUZZ_MUST(made || regcomp(&regex, grammar, REG_EXTENDED | REG_NOSUB) == 0);
    made = true;
    return regexec(&regex, line, 0, NULL, 0) == 0;
}

// Writes the answer again, except its text.
static size_t spell(const struct answer *a, char *out, size_t size)
{
    static const char *const words[] = {[ANSWER_SENT] = "sent",
        [ANSWER_TRANSIENT] = "error transient",
        [ANSWER_PERMANENT] = "error permanent"};
    char place[16] = "";

    if (a->place)
        snprintf(place, sizeof place, ".%d", a->place);
    return (size_t)snprintf(out, size, "%lld%s %s", (long long)a->line, place, words[a->kind]);
}

// Checks the text: it is what follows the blank, cut to its limit, with '?' for each character that
// is not printable.
static void check_text(const struct answer *a, const char *rest, size_t len)
{
    FUZZ_MUST(len == 0 || rest[0] == ' ');
    size_t text = len > 0 ? len - 1 : 0;
    size_t kept = text < ANSWER_TEXT_MAX ? text : ANSWER_TEXT_MAX;
    FUZZ_MUST(strlen(a->text) == kept);
    for (size_t i = 0; i < kept; i++) {
        unsigned char c = (unsigned char)rest[1 + i];
        FUZZ_MUST(a->text[i] == (c >= ' ' && c <= '~' ? (char)c : '?'));
    }
}

static void check_answer(const struct answer *a, const char *line, size_t len)
{
    char spelled[64];
    size_t head = spell(a, spelled, sizeof spelled);

    FUZZ_MUST(a->line >= 1 && a->place >= 0 && head < sizeof spelled);
    FUZZ_MUST(len >= head && memcmp(line, spelled, head) == 0);
    FUZZ_MUST(a->kind != ANSWER_SENT || len == head);
    check_text(a, line + head, len - head);
}

// Checks one line. The line gets a copy of its own, so that a sanitizer sees a read beyond its end.
static void check_line(const char *at, size_t len)
{
    char *line = malloc(len + 1), *exact = malloc(len ? len : 1);
    struct answer a;
    const char *why = NULL;

    FUZZ_MUST(line && exact);
    memcpy(line, at, len);
    memcpy(exact, at, len);
    line[len] = '\0';
    if (answer_parse(&a, exact, len, &why)) {
        fuzz_accept();
        check_answer(&a, line, len);
    } else {
        FUZZ_MUST(why && *why);
        // A line with a zero byte may be refused: the grammar would see only its beginning.
        FUZZ_MUST(strlen(line) < len || !is_allowed(line));
    }
    free(exact);
    free(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *at = (const char *)data, *end = at + size;

    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t len = (size_t)((stop ? stop : end) - at);
        check_line(at, len);
        at += len + (stop != NULL);
    }
    return 0;
}
