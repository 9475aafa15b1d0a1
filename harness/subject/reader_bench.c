// reader_bench TOKENS: measures how fast one core splits, decodes, checks and keeps lines, and how
// much memory they take. The lines have ten tokens each and are fed in pieces as large as a pipe
// gives them. Every token is signed, and every signature is checked.
#include <sys/resource.h>
#include <time.h>

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "plan/names.h"
#include "subject/reader.h"

#define LIMIT 10
#define PIPE_CHUNK 65536

static const unsigned char key[32] = "a key for nothing but this bench";

static double cpu_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

// Writes unpadded base64url. EVP_EncodeBlock uses the alphabet with + and /, and adds two
// characters of padding.
static void encode_secret(const unsigned char signed_secret[64], char text[89])
{
    EVP_EncodeBlock((unsigned char *)text, signed_secret, 64);
    for (char *c = text; *c; c++)
        *c = (char)(*c == '+' ? '-' : *c == '/' ? '_' : *c);
    text[86] = '\0';
}

static void append_token(struct buf *out, uint32_t token)
{
    static const char path[] = "/activate";
    unsigned char input[sizeof path - 1 + 32] = {0}, signed_secret[64] = {0};
    char email[NAMES_MAX], login[NAMES_MAX], secret[89];

    names_email(email, token);
    names_login(login, token);
    memcpy(signed_secret, &token, sizeof token);
    memcpy(input, path, sizeof path - 1);
    memcpy(input + sizeof path - 1, signed_secret, 32);
    HMAC(EVP_sha256(), key, sizeof key, input, sizeof input, signed_secret + 32, NULL);
    encode_secret(signed_secret, secret);
    buf_printf(out, "%s1,%s,%s,%s,12345", token % LIMIT ? "," : "", email, login, secret);
}

// Makes the lines of the tokens [from, until). The time that this takes is not measured.
static void make_text(struct buf *text, uint32_t from, uint32_t until)
{
    buf_clear(text);
    for (uint32_t t = from; t < until; t++) {
        append_token(text, t);
        if (t % LIMIT == LIMIT - 1 || t + 1 == until)
            buf_append_char(text, '\n');
    }
}

// Gives the text to the reader, and adds the processor time that it took to *spent_s. False when
// memory is short.
static bool feed_reader(
    struct reader *r, const struct buf *text, struct buf *pending, double *spent_s)
{
    double before_s = cpu_s();

    for (size_t at = 0; at < text->len;) {
        size_t len = text->len - at < PIPE_CHUNK ? text->len - at : PIPE_CHUNK;
        if (!buf_append(pending, text->data + at, len))
            return false;
        reader_lines(r, pending, 0, &(struct reading){.read_ns = clock_now_ns()});
        at += len;
    }
    *spent_s += cpu_s() - before_s;
    return true;
}

// Measures the reader with so many tokens. False when its log does not hold exactly these tokens.
static bool run_bench(uint32_t tokens, double *spent_s)
{
    enum { PART = 100000 };
    const struct process_record process = {.pid = 1};
    struct reader r FREED_BY(reader_fini) = {0};
    struct buf text FREED_BY(buf_fini) = BUF_INIT(64 << 20);
    struct buf pending FREED_BY(buf_fini) = BUF_INIT(READER_LINE_MAX);
    struct err e;

    bool ok = reader_init(&r, key, tokens, &e) && reader_add_process(&r, &process) == 0;
    for (uint32_t from = 0; ok && from < tokens; from += PART) {
        make_text(&text, from, tokens - from < PART ? tokens : from + PART);
        ok = feed_reader(&r, &text, &pending, spent_s);
    }
    ok = ok && r.tokens == tokens && r.log.delivery_count == tokens;
    for (size_t i = 0; ok && i < r.log.delivery_count; i++)
        ok = r.log.deliveries[i].token == i && r.log.deliveries[i].flags == 0;
    return ok;
}

int main(int argc, char **argv)
{
    uint32_t tokens = argc == 2 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0;
    struct rusage usage;
    double spent_s = 0;

    if (tokens == 0) {
        fprintf(stderr, "usage: reader_bench TOKENS\n");
        return 64;
    }
    if (!run_bench(tokens, &spent_s)) {
        fprintf(stderr, "reader_bench: the reader did not give back what it was fed\n");
        return 70;
    }
    getrusage(RUSAGE_SELF, &usage);
    printf("%u tokens: %.0f/s on one core, %.0f ns for one, %ld MiB at most\n", tokens,
        tokens / spent_s, spent_s * 1e9 / tokens, usage.ru_maxrss / 1024);
    return 0;
}
