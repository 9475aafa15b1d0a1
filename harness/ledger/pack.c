#include "ledger/pack.h"

#include <sys/stat.h>
#include <zlib.h>

enum { BUFFER = 1 << 16 };

// zlib expands one byte to at most 1,032 bytes. An item takes at least one of these, so a file of N
// bytes holds at most 1,032 * N items.
#define ZLIB_RATIO_MAX 1032

struct pack {
    gzFile file;
    bool reading;
    const char *why; // the first failure; NULL: none so far
    size_t most;     // largest number of items that a file of this size can hold
    int64_t last_ns; // the time that pack_time packed last
    size_t pos, len; // next byte to be read, and number of bytes, in the buffer
    unsigned char buffer[BUFFER];
};

static struct pack *open_stream(const char *path, const char *mode, struct err *e)
{
    struct pack *p = memory_zeroed(1, sizeof *p);

    p->reading = mode[0] == 'r';
    p->file = gzopen(path, mode);
    if (!p->file) {
        err_sys(e, ERR_SYSTEM, "cannot open %s", path);
        free(p);
        return NULL;
    }
    gzbuffer(p->file, 1 << 18); // larger than zlib's own buffer, and so faster
    return p;
}

struct pack *pack_write(const char *path, struct err *e)
{
    return open_stream(path, "wbe3", e); // e: close on exec; 3: the compression level
}

struct pack *pack_read(const char *path, struct err *e)
{
    struct pack *p = open_stream(path, "rbe", e);
    struct stat st;

    if (p && stat(path, &st) == 0)
        p->most = (size_t)st.st_size * ZLIB_RATIO_MAX;
    return p;
}

bool pack_can_hold(const struct pack *p, size_t count)
{
    return count <= p->most;
}

bool pack_reading(const struct pack *p)
{
    return p->reading;
}

bool pack_ok(const struct pack *p)
{
    return !p->why;
}

void pack_fail(struct pack *p, const char *why)
{
    if (!p->why)
        p->why = why;
}

static void flush_pack(struct pack *p)
{
    if (p->len > 0 && gzwrite(p->file, p->buffer, (unsigned)p->len) != (int)p->len)
        pack_fail(p, "cannot be written");
    p->len = 0;
}

bool pack_close(struct pack *p, struct err *e)
{
    if (!p->reading)
        flush_pack(p);
    const char *why = p->why;
    if (gzclose(p->file) != Z_OK && !why)
        why = p->reading ? "is damaged" : "cannot be written";
    free(p);
    return !why || err_set(e, ERR_SYSTEM, "the history %s", why);
}

static void put_byte(struct pack *p, unsigned char byte)
{
    if (p->len == BUFFER)
        flush_pack(p);
    p->buffer[p->len++] = byte;
}

// Returns the next byte of the file; 0 after a failure, whose reason is in p->why.
static unsigned char get_byte(struct pack *p)
{
    if (p->why)
        return 0;
    if (p->pos == p->len) {
        int got = gzread(p->file, p->buffer, BUFFER);
        int error = Z_OK;
        // gzread also fails for a file that ends in the middle of a block. That file is cut off,
        // and not damaged: the run may have been killed.
        gzerror(p->file, &error);
        p->pos = 0;
        p->len = got > 0 ? (size_t)got : 0;
        if (got < 0 && error != Z_BUF_ERROR)
            pack_fail(p, "is damaged");
        else if (got <= 0)
            pack_fail(p, "is cut off");
        if (got <= 0)
            return 0;
    }
    return p->buffer[p->pos++];
}

void pack_number(struct pack *p, uint64_t *value, uint64_t most)
{
    uint64_t v = *value;

    if (!p->reading) {
        for (; v >= 0x80; v >>= 7)
            put_byte(p, (unsigned char)(v | 0x80));
        put_byte(p, (unsigned char)v);
        return;
    }
    v = 0;
    for (unsigned shift = 0;; shift += 7) {
        unsigned char byte = get_byte(p);
        // Nine bytes hold 63 bits, so a tenth one may only hold the last bit.
        if (shift > 63 || (shift == 63 && byte > 1)) {
            pack_fail(p, "holds a number that is too long");
            break;
        }
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            break;
    }
    // Each number has a limit, because most of them become indexes or sizes.
    if (v > most)
        pack_fail(p, "holds an impossible number");
    *value = p->why ? 0 : v;
}

// Maps 0, -1, 1, -2 … to 0, 1, 2, 3 …, so that numbers near zero take few bytes.
static uint64_t fold(int64_t v)
{
    return ((uint64_t)v << 1) ^ (v < 0 ? UINT64_MAX : 0);
}

static int64_t unfold(uint64_t v)
{
    return (int64_t)((v >> 1) ^ (v & 1 ? UINT64_MAX : 0));
}

void pack_signed(struct pack *p, int64_t *value)
{
    uint64_t folded = fold(*value);

    // The limit is so low that sums over a damaged history do not overflow.
    pack_number(p, &folded, UINT64_MAX / 4);
    *value = unfold(folded);
}

void pack_time(struct pack *p, int64_t *ns)
{
    const int64_t most_ns = INT64_MAX / 4; // no difference of such times overflows
    // 0 stands for the time 0, 1 for CLOCK_NEVER, and 2 or more for a difference.
    uint64_t v = *ns == CLOCK_NEVER ? 1 : *ns == 0 ? 0 : fold(*ns - p->last_ns) + 2;

    pack_number(p, &v, UINT64_MAX);
    if (p->reading && v >= 2) {
        int64_t step = unfold(v - 2);
        if (step > most_ns || step < -most_ns || p->last_ns + step > most_ns ||
            p->last_ns + step < -most_ns) {
            pack_fail(p, "holds an impossible time");
            step = 0;
        }
        *ns = p->last_ns + step;
    } else if (p->reading) {
        *ns = v == 1 ? CLOCK_NEVER : 0;
    }
    if (v >= 2)
        p->last_ns = *ns;
}

void pack_text(struct pack *p, char *text, size_t size)
{
    uint64_t len = p->reading ? 0 : strlen(text);

    pack_number(p, &len, size - 1);
    for (uint64_t i = 0; i < len; i++) {
        if (p->reading)
            text[i] = (char)get_byte(p);
        else
            put_byte(p, (unsigned char)text[i]);
    }
    // After a failure the text is empty.
    if (p->reading)
        text[p->why ? 0 : len] = '\0';
}

void pack_moment(struct pack *p, int64_t *ns)
{
    pack_time(p, ns);
    if (p->reading && *ns == CLOCK_NEVER) {
        pack_fail(p, "holds an impossible time");
        *ns = 0;
    }
}

void *pack_room(struct pack *p, void *items, size_t count, size_t size)
{
    if (!p->reading)
        return items;
    if (!pack_can_hold(p, count)) {
        pack_fail(p, "names more items than it can hold");
        return NULL;
    }
    items = calloc(count + 1, size); // one more, because calloc may return NULL for no items
    if (!items)
        pack_fail(p, "needs more memory than there is");
    return items;
}

void *pack_array(struct pack *p, size_t *count, uint64_t most, void *items, size_t size)
{
    PACK_LIMITED(p, *count, most);
    items = pack_room(p, items, *count, size);
    if (p->reading && !items)
        *count = 0;
    return items;
}
