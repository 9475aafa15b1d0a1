// The bytes of a connection may arrive in any pieces. The framing finds the same messages as in one
// piece, and every tag that a cut waits for.
//
// The input: a byte of flags, four bytes from which the sizes of the pieces are drawn, and the
// bytes of one direction.
#include "fault/wire.h"
#include "fuzz/fuzz.h"
#include "plan/rng.h"

enum { SERVER = 1, ANSWER = 2, BYTEWISE = 4 };

#define MESSAGES 4096

struct found {
    size_t at;
    uint64_t len;
    unsigned char type;
    uint64_t text; // a fingerprint of the content on which the proxy's decisions depend
};

struct findings {
    struct found messages[MESSAGES];
    size_t count, passed;
    enum wire_phase phase;
    uint64_t left;
};

static uint64_t fingerprint(const char *text, size_t len)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < len; i++)
        hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    return hash + len;
}

// Returns a fingerprint of the text that the proxy reads of a message, such as a password or a tag.
// That text must not depend on how many more bytes have arrived. For any other message it is enough
// that the header has arrived.
static uint64_t text_of(const struct wire *w, const struct wire_message *m)
{
    size_t len = m->text_len;

    if (m->type > MESSAGE_TYPELESS_MAX) {
        if (w->sender != MESSAGE_SERVER || m->type != 'C')
            return 0;
        len = len < MESSAGE_TAG_MAX ? len : MESSAGE_TAG_MAX;
    }
    return fingerprint(m->text, len);
}

static void add(struct findings *s, const struct wire *w, const struct wire_message *m)
{
    if (s->count == MESSAGES)
        return;
    s->messages[s->count++] =
        (struct found){.at = s->passed, .len = m->len, .type = m->type, .text = text_of(w, m)};
}

// Follows the wire as link.c does, as far as the bytes reach.
static void follow(struct findings *s, struct wire *w, const char *bytes, size_t there)
{
    while (s->passed < there) {
        const char *data = bytes + s->passed;
        struct wire_message m;
        if (w->left == 0 && wire_begin(w, data, there - s->passed, &m)) {
            FUZZ_MUST(m.len > 0 && w->left == m.len);
            FUZZ_MUST(m.text_len == 0 || (m.text >= data && m.text + m.text_len <= bytes + there));
            FUZZ_MUST(m.text_len < m.len || m.type == MESSAGE_ENCRYPTION_ANSWER);
            add(s, w, &m);
        }
        size_t n = wire_pass(w, there - s->passed);
        if (n == 0)
            break;
        FUZZ_MUST(n <= there - s->passed);
        s->passed += n;
    }
}

// Follows the bytes as they arrive: in one piece if rng is NULL, otherwise in pieces of random size
// or, with BYTEWISE, of one byte.
static void read_all(
    struct findings *s, unsigned flags, struct rng *rng, const char *bytes, size_t len)
{
    struct wire w;

    s->count = s->passed = 0;
    wire_init(&w, flags & SERVER ? MESSAGE_SERVER : MESSAGE_CLIENT);
    if (flags & SERVER && flags & ANSWER)
        wire_expect_answer(&w);
    for (size_t there = 0; there < len;) {
        size_t step = !rng ? len : flags & BYTEWISE ? 1 : (size_t)rng_below(rng, 40) + 1;
        there = step < len - there ? there + step : len;
        // The copy ends where the bytes end, so that a sanitizer sees a read beyond them.
        char *copy = malloc(there);
        FUZZ_MUST(copy);
        memcpy(copy, bytes, there);
        follow(s, &w, copy, there);
        free(copy);
    }
    s->phase = w.phase;
    s->left = w.left;
}

static uint32_t read_u32(const char *at)
{
    const unsigned char *b = (const unsigned char *)at;

    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

// Follows the framing a second time, for a whole stream of plain messages, by the protocol's
// documentation: a byte, a length that includes itself, the rest.
static void check_messages(const struct findings *s, const char *bytes, size_t len)
{
    size_t at = 0, i = 0;

    while (len - at >= 5 && i < s->count) {
        const struct found *m = &s->messages[i];
        uint64_t total = (uint64_t)read_u32(bytes + at + 1) + 1;
        // The framing waits for the whole tag of a CommandComplete ('C') before it reports it.
        bool waits = bytes[at] == 'C' && len - at < total && len - at < 5 + MESSAGE_TAG_MAX;
        // These numbers stand for messages without a type byte.
        bool foreign = (unsigned char)bytes[at] <= MESSAGE_TYPELESS_MAX;
        if (total < 5 || foreign || waits)
            break;
        FUZZ_MUST(m->at == at && m->len == total && m->type == (unsigned char)bytes[at]);
        i++;
        at += total < len - at ? (size_t)total : len - at;
    }
    FUZZ_MUST(i == s->count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct findings whole, pieces;
    struct fuzz_bytes in = {data, size};
    struct rng rng;
    unsigned flags = fuzz_byte(&in);

    rng_init(&rng, fuzz_number(&in, 4), 0);
    const char *bytes = (const char *)in.at;
    read_all(&whole, flags, NULL, bytes, in.left);
    read_all(&pieces, flags, &rng, bytes, in.left);
    FUZZ_MUST(whole.count == pieces.count && whole.passed == pieces.passed);
    FUZZ_MUST(whole.phase == pieces.phase && whole.left == pieces.left);
    for (size_t i = 0; i < whole.count; i++) {
        const struct found *a = &whole.messages[i], *b = &pieces.messages[i];
        FUZZ_MUST(a->at == b->at && a->len == b->len && a->type == b->type && a->text == b->text);
    }
    if (whole.count > 0 && whole.left == 0)
        fuzz_accept();
    if (flags & SERVER && !(flags & ANSWER))
        check_messages(&whole, bytes, in.left);
    return 0;
}
