#include "fuzz/fuzz.h"

void fuzz_fail(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: this must hold: %s\n", file, line, what);
    abort();
}

static bool accepted;

void fuzz_accept(void)
{
    accepted = true;
}

bool fuzz_accepted(void)
{
    bool was = accepted;

    accepted = false;
    return was;
}

// The default for a target that makes no seeds.
__attribute__((weak)) size_t fuzz_seed(size_t index, uint8_t *data, size_t size, bool *good)
{
    memset(data, (int)index, size);
    *good = false;
    return 0;
}

uint8_t fuzz_byte(struct fuzz_bytes *b)
{
    if (b->left == 0)
        return 0;
    b->left--;
    return *b->at++;
}

uint64_t fuzz_number(struct fuzz_bytes *b, unsigned bytes)
{
    uint64_t number = 0;

    while (bytes-- > 0)
        number = number << 8 | fuzz_byte(b);
    return number;
}

struct fuzz_bytes fuzz_piece(struct fuzz_bytes *b)
{
    size_t len = fuzz_byte(b);
    struct fuzz_bytes piece = {b->at, len < b->left ? len : b->left};

    b->at += piece.left;
    b->left -= piece.left;
    return piece;
}
