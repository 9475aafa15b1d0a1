// Output is decoded in the same way whatever the pieces in which it arrives. A token that is
// accepted has exactly one spelling: encoded again, it gives the bytes that were read.
//
// The input: two bytes from which the sizes of the pieces are drawn, then the output.
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "fuzz/fuzz.h"
#include "plan/names.h"
#include "plan/rng.h"
#include "subject/decoder.h"
#include "subject/reader.h"

#define TOKENS 1000
#define OUTPUT_MAX ((size_t)1 << 20)

static const struct process_record process = {.pid = 1};

// Reads `bytes` in pieces of random size, or in one piece if rng is NULL, and then the end of the
// file.
static void read_all(struct reader *r, struct rng *rng, const uint8_t *bytes, size_t len)
{
    struct buf pending;
    struct err e = {0};

    buf_init(&pending, OUTPUT_MAX);
    FUZZ_MUST(reader_init(r, fuzz_key, TOKENS, &e));
    FUZZ_MUST(reader_add_process(r, &process) == 0);
    while (len > 0) {
        size_t step = rng ? (size_t)rng_below(rng, 300) + 1 : len;
        step = step < len ? step : len;
        FUZZ_MUST(buf_append(&pending, bytes, step));
        reader_lines(r, &pending, 0, &(struct reading){.read_ns = 1});
        bytes += step;
        len -= step;
    }
    reader_tail(r, &pending, 0, &(struct reading){.read_ns = 1});
    buf_fini(&pending);
}

static void check_same(const struct reader *a, const struct reader *b)
{
    FUZZ_MUST(a->tokens == b->tokens && a->log.line_count == b->log.line_count);
    FUZZ_MUST(a->log.delivery_count == b->log.delivery_count);
    for (size_t i = 0; i < a->log.line_count; i++) {
        const struct line_record *x = &a->log.lines[i], *y = &b->log.lines[i];
        FUZZ_MUST(x->tokens == y->tokens && x->state == y->state);
        FUZZ_MUST(x->first_delivery == y->first_delivery);
    }
    for (size_t i = 0; i < a->log.delivery_count; i++) {
        const struct delivery *x = &a->log.deliveries[i], *y = &b->log.deliveries[i];
        FUZZ_MUST(x->token == y->token && x->line == y->line && x->flags == y->flags);
        FUZZ_MUST(x->fingerprint == y->fingerprint);
    }
    for (size_t i = 0; i < TOKENS; i++)
        FUZZ_MUST(atomic_load(&a->seen_ns[i]) == atomic_load(&b->seen_ns[i]));
}

// Makes the signature that the specification gives to a token with these fields.
static void sign(const struct decoded *t, unsigned char mac[32])
{
    unsigned char text[64];
    const char *path = t->action == 1 ? "/activate" : "/recover";
    size_t len = (size_t)(stpcpy((char *)text, path) - (char *)text);
    unsigned mac_len = 32;

    memcpy(text + len, t->secret, DECODE_SECRET_LEN);
    len += DECODE_SECRET_LEN;
    if (t->action == 2) {
        memcpy(text + len, t->code, 5);
        len += 5;
    }
    FUZZ_MUST(HMAC(EVP_sha256(), fuzz_key, 32, text, len, mac, &mac_len));
}

// Spells the token as a line has it. The signature is `mac`, because that of the token may be
// wrong.
static size_t spell(const struct decoded *t, const unsigned char mac[32], char *out)
{
    unsigned char both[64], secret[89];
    char *at = out;

    memcpy(both, t->secret, 32);
    memcpy(both + 32, mac, 32);
    EVP_EncodeBlock(secret, both, sizeof both);
    for (size_t i = 0; i < 86; i++)
        secret[i] = secret[i] == '+' ? '-' : secret[i] == '/' ? '_' : secret[i];
    *at++ = (char)('0' + t->action);
    *at++ = ',';
    at = (char *)mempcpy(at, t->email, t->email_len);
    *at++ = ',';
    at = (char *)mempcpy(at, t->login, t->login_len);
    *at++ = ',';
    at = (char *)mempcpy(at, secret, 86);
    *at++ = ',';
    at = (char *)mempcpy(at, t->code, t->code_len);
    return (size_t)(at - out);
}

// Checks a token that was decoded from `text`: written again, it gives that text, except for a
// wrong signature.
static void check_token(const struct decoded *t, const char *text, size_t len)
{
    unsigned char mac[32];
    char *out = malloc(len + 200);
    size_t secret_ends = t->email_len + t->login_len + 4 + 86;

    FUZZ_MUST(out && (t->action == 1 || t->action == 2));
    FUZZ_MUST(t->code_len == 5 || (t->code_len == 0 && t->action == 1));
    sign(t, mac);
    FUZZ_MUST(spell(t, mac, out) == len);
    bool same = memcmp(out, text, len) == 0;
    FUZZ_MUST(same == t->signature_ok);
    // A wrong signature changes at most the last 44 letters of the 86. The other letters are right.
    FUZZ_MUST(memcmp(out, text, secret_ends - 44) == 0);
    FUZZ_MUST(memcmp(out + secret_ends, text + secret_ends, len - secret_ends) == 0);
    free(out);
}

// Decodes a line without the reader, and checks that the reader recorded the same. Returns the
// number of its tokens; 0 for a torn line.
static size_t check_line(
    struct decoder *d, const char *text, size_t len, const struct line_record *line)
{
    struct decoded t;
    size_t shape, tokens = 0, pos = 0;
    bool whole = decode_shape(text, len, &shape);

    while (whole && tokens < shape) {
        size_t start = pos;
        whole = decode_subject_token(d, text, len, &pos, &t);
        FUZZ_MUST(pos <= len && pos > start);
        size_t end = whole && tokens + 1 < shape ? pos - 1 : pos;
        if (whole)
            check_token(&t, text + start, end - start);
        tokens += whole;
    }
    FUZZ_MUST(whole == (line->state == LINE_WHOLE));
    FUZZ_MUST(!whole || (line->tokens == shape && pos == len));
    return whole ? shape : 0;
}

// Checks the tokens of whole lines and, between them, the names found in torn lines.
static void check_deliveries(const struct reader *r)
{
    size_t next = 0;

    for (size_t i = 0; i < r->log.line_count; i++) {
        const struct line_record *line = &r->log.lines[i];
        FUZZ_MUST(line->first_delivery == next);
        for (size_t last = next + line->tokens; next < last; next++)
            FUZZ_MUST(!(r->log.deliveries[next].flags & DELIVERY_NAMED));
        for (; next < r->log.delivery_count && r->log.deliveries[next].line == i; next++)
            FUZZ_MUST(r->log.deliveries[next].flags == DELIVERY_NAMED);
    }
    FUZZ_MUST(next == r->log.delivery_count);
}

static void check_lines(const struct reader *r, const uint8_t *bytes, size_t len)
{
    const char *at = (const char *)bytes, *end = at + len;
    size_t lines = 0, tokens = 0;

    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        FUZZ_MUST(lines < r->log.line_count);
        if (!newline) {
            FUZZ_MUST(r->log.lines[lines++].state == LINE_TORN);
            break;
        }
        tokens += check_line(r->decoder, at, (size_t)(newline - at), &r->log.lines[lines++]);
        at = newline + 1;
    }
    FUZZ_MUST(lines == r->log.line_count && tokens == r->tokens);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_bytes in = {data, size};
    struct reader whole, pieces;
    struct rng rng;

    rng_init(&rng, fuzz_number(&in, 2), 0);
    read_all(&whole, NULL, in.at, in.left);
    read_all(&pieces, &rng, in.at, in.left);
    check_same(&whole, &pieces);
    check_lines(&whole, in.at, in.left);
    check_deliveries(&whole);
    if (whole.tokens > 0)
        fuzz_accept();
    reader_fini(&pieces);
    reader_fini(&whole);
    return 0;
}

// --- seeds: what a correct collector writes ------------------------------------------

static size_t put_token(char *out, uint32_t number, int action)
{
    char email[NAMES_MAX], login[NAMES_MAX];
    struct decoded t = {.action = action, .email = email, .login = login, .code = "01234"};
    unsigned char mac[32];

    t.email_len = names_email(email, number);
    t.login_len = names_login(login, number);
    t.code_len = action == 1 && number % 2 ? 0 : 5;
    memset(t.secret, (int)number, sizeof t.secret);
    sign(&t, mac);
    return spell(&t, mac, out);
}

size_t fuzz_seed(size_t index, uint8_t *data, size_t size, bool *good)
{
    static const uint32_t lines[][4] = {{1, 1, 1, 0}, {2, 3, 0, 0}, {10, 0, 0, 0}, {1, 0, 0, 0}};
    char *at = (char *)data + 2;

    *good = true;
    if (index == sizeof lines / sizeof *lines || size < FUZZ_SEED_MAX)
        return 0;
    data[0] = data[1] = (uint8_t)index;
    for (size_t l = 0; l < 4 && lines[index][l] > 0; l++) {
        for (uint32_t i = 0; i < lines[index][l]; i++) {
            if (i > 0)
                *at++ = ',';
            at += put_token(at, i + (uint32_t)l * 100, i % 3 == 1 ? 2 : 1);
        }
        *at++ = '\n';
    }
    return (size_t)(at - (char *)data);
}
