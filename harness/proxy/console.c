#include "proxy/console.h"

#include <stdarg.h>

#include "scenario/units.h"

#define WORDS_MAX 12
#define LINE_MAX_LEN 300

struct words {
    char text[LINE_MAX_LEN];
    char *items[WORDS_MAX]; // point into text
    size_t count, at;       // at: index of the word that is parsed next
};

// Each parses the words behind an order's name, which the table's `takes` shows.
static bool parse_cut(struct words *w, struct order *o, struct err *e);
static bool parse_half_open(struct words *w, struct order *o, struct err *e);
static bool parse_delay(struct words *w, struct order *o, struct err *e);
static bool parse_throttle(struct words *w, struct order *o, struct err *e);
static bool parse_bytes(struct words *w, struct order *o, struct err *e);
static bool parse_slice(struct words *w, struct order *o, struct err *e);
static bool parse_heal(struct words *w, struct order *o, struct err *e);

static const struct {
    const char *name;
    const char *takes;
    // NULL: no words follow the name, except "for TIME".
    bool (*parse)(struct words *w, struct order *o, struct err *e);
    bool lasts; // the order may end with "for TIME"
    const char *help;
} orders[ORDER_COUNT] = {
    [ORDER_CUT_AT] = {"cut-at", "[before|after] [N] MESSAGE", parse_cut, false,
        "end the connection before (default) or after the N-th such message from now on; replaces "
        "a cut that still waits"},
    [ORDER_PARTITION] = {"partition", "[for TIME]", NULL, true,
        "pass nothing either way; connections stay open"},
    [ORDER_HALF_OPEN] = {"half-open", "to-server|to-client [for TIME]", parse_half_open, true,
        "pass nothing in this direction"},
    [ORDER_RESET] = {"reset", "", NULL, false, "reset every connection"},
    [ORDER_DELAY] = {"delay", "TIME [jitter TIME] [for TIME]", parse_delay, true,
        "pass every byte later, each way"},
    [ORDER_THROTTLE] = {"throttle", "RATE [for TIME]", parse_throttle, true,
        "pass no more than this, each way of each connection, such as 20kB/s"},
    [ORDER_LIMIT_DATA] = {"limit-data", "BYTES [for TIME]", parse_bytes, true,
        "end each connection when it has passed this many bytes, both ways together"},
    [ORDER_SLICE] = {"slice", "BYTES [gap TIME] [for TIME]", parse_slice, true,
        "pass bytes in pieces of at most this size, each way, with a pause (1ms) after each"},
    [ORDER_HEAL] = {"heal", "[drop]", parse_heal, false,
        "undo everything; what was withheld passes, or with drop is lost with its connections"},
    [ORDER_STATUS] = {"status", "", NULL, false, "count connections and bytes"},
    [ORDER_HELP] = {"help", "", NULL, false, "print this"},
    [ORDER_QUIT] = {"quit", "", NULL, false, "end the proxy and its connections"},
};

// --- parsing ----------------------------------------------------------------------

// Returns the word that is to be parsed next.
static const char *current_word(struct words *w)
{
    // After the last word, return an empty one. No order accepts it, so the parsers refuse a
    // missing word as they refuse a wrong one.
    return w->at < w->count ? w->items[w->at] : "";
}

// Splits an order into words. ERR_USAGE when it is too long or has too many words.
static bool split_words(struct words *w, const char *line, struct err *e)
{
    size_t len = strlen(line);
    char *rest = w->text;

    if (len >= sizeof w->text)
        return err_set(e, ERR_USAGE, "an order has at most %d characters", LINE_MAX_LEN - 1);
    memcpy(w->text, line, len + 1);
    for (char *word; (word = strsep(&rest, " \t\r\n"));) {
        // strsep finds an empty word between two blanks in a row. It does not count.
        if (*word && w->count == WORDS_MAX)
            return err_set(e, ERR_USAGE, "an order has at most %d words", WORDS_MAX);
        if (*word)
            w->items[w->count++] = word;
    }
    return true;
}

// Parses "[before|after] [N] MESSAGE".
static bool parse_cut(struct words *w, struct order *o, struct err *e)
{
    int64_t n = 1;
    size_t len = 0;

    // Side and number may be left out. All words after them are the message's name.
    o->side = strcmp(current_word(w), "after") == 0 ? CUT_AFTER : CUT_BEFORE;
    w->at += strcmp(current_word(w), "before") == 0 || strcmp(current_word(w), "after") == 0;
    if (*current_word(w) >= '0' && *current_word(w) <= '9' &&
        !units_count(w->items[w->at++], &n, e))
        return false;
    if (n < 1 || n > 1000000)
        return err_set(e, ERR_USAGE, "cut-at: N is 1 to 1000000");
    for (; w->at < w->count; w->at++) {
        int added = snprintf(
            o->message + len, sizeof o->message - len, "%s%s", len ? " " : "", w->items[w->at]);
        len += (size_t)added;
        if (len >= sizeof o->message)
            return err_set(e, ERR_USAGE, "cut-at: the message's name is too long");
    }
    o->n = (int)n;
    return message_kind_parse(o->message, &o->kind, e);
}

static bool parse_half_open(struct words *w, struct order *o, struct err *e)
{
    const char *direction = current_word(w);

    o->direction = strcmp(direction, "to-server") == 0 ? TO_SERVER : TO_COLLECTOR;
    if (o->direction == TO_COLLECTOR && strcmp(direction, "to-client") != 0)
        return err_set(e, ERR_USAGE, "half-open: '%s' should be to-server or to-client", direction);
    w->at++;
    return true;
}

// Parses "TIME [jitter TIME]".
static bool parse_delay(struct words *w, struct order *o, struct err *e)
{
    if (!units_duration(current_word(w), &o->by_ns, e))
        return err_prefix(e, "delay");
    w->at++;
    if (strcmp(current_word(w), "jitter") != 0)
        return true;
    w->at++;
    if (!units_duration(current_word(w), &o->jitter_ns, e))
        return err_prefix(e, "delay: jitter");
    w->at++;
    return true;
}

static bool parse_throttle(struct words *w, struct order *o, struct err *e)
{
    if (!units_bytes_per_second(current_word(w), &o->rate, e))
        return err_prefix(e, "throttle");
    if (o->rate == 0)
        return err_set(e, ERR_USAGE, "throttle: RATE is above 0; partition passes nothing");
    w->at++;
    return true;
}

static bool parse_bytes(struct words *w, struct order *o, struct err *e)
{
    if (!units_count(current_word(w), &o->bytes, e))
        return err_prefix(e, "%s", orders[o->id].name);
    if (o->bytes < 1)
        return err_set(e, ERR_USAGE, "%s: BYTES is at least 1", orders[o->id].name);
    w->at++;
    return true;
}

// Parses "BYTES [gap TIME]".
static bool parse_slice(struct words *w, struct order *o, struct err *e)
{
    // Without a pause the receiver could read several pieces at once, as if they had come whole.
    o->by_ns = NS_PER_MS;
    if (!parse_bytes(w, o, e))
        return false;
    if (strcmp(current_word(w), "gap") != 0)
        return true;
    w->at++;
    if (!units_duration(current_word(w), &o->by_ns, e))
        return err_prefix(e, "slice: gap");
    w->at++;
    return true;
}

static bool parse_heal(struct words *w, struct order *o, struct err *e)
{
    (void)e;
    o->drop = strcmp(current_word(w), "drop") == 0;
    w->at += o->drop;
    return true;
}

// Parses "for TIME" at the order's end, if the order may have one.
static bool parse_for(struct words *w, struct order *o, struct err *e)
{
    if (!orders[o->id].lasts || strcmp(current_word(w), "for") != 0)
        return true;
    w->at++;
    if (!units_duration(current_word(w), &o->for_ns, e))
        return err_prefix(e, "%s: for", orders[o->id].name);
    // A for_ns of 0 means that the order lasts until heal.
    if (o->for_ns == 0)
        return err_set(e, ERR_USAGE, "%s: for: TIME is above 0", orders[o->id].name);
    w->at++;
    return true;
}

bool console_parse(const char *line, struct order *o, struct err *e)
{
    struct words w = {0};

    *o = (struct order){0};
    if (!split_words(&w, line, e))
        return false;
    while (o->id < ORDER_COUNT && strcmp(current_word(&w), orders[o->id].name) != 0)
        o->id++;
    if (o->id == ORDER_COUNT)
        return err_set(e, ERR_USAGE, "unknown order '%.40s'; 'help' lists them", current_word(&w));
    w.at++;
    if ((orders[o->id].parse && !orders[o->id].parse(&w, o, e)) || !parse_for(&w, o, e))
        return false;
    // Refuse words that are left over: an order without them might not be the one that was meant.
    if (w.at < w.count)
        return err_set(e, ERR_USAGE, "%s: '%.40s' is too much; it takes %s", orders[o->id].name,
            current_word(&w), *orders[o->id].takes ? orders[o->id].takes : "nothing");
    return true;
}

// Prints one line for each order.
static void console_help(FILE *out)
{
    for (size_t i = 0; i < ORDER_COUNT; i++) {
        char usage[60];
        snprintf(usage, sizeof usage, "%s%s%s", orders[i].name, *orders[i].takes ? " " : "",
            orders[i].takes);
        fprintf(out, "  %-42s %s\n", usage, orders[i].help);
    }
}

// --- carrying out -------------------------------------------------------------------

// Writes a line with the time of the event.
static void say_event(const struct console *c, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void say_event(const struct console *c, const char *fmt, ...)
{
    va_list args;

    fprintf(c->out, "%.3f s  ", (double)(clock_now_ns() - c->start_ns) / 1e9);
    va_start(args, fmt);
    vfprintf(c->out, fmt, args);
    va_end(args);
    fputc('\n', c->out);
}

static void tell_status(const struct console *c)
{
    struct proxy_counts counts = proxy_counts(c->proxy);

    say_event(c, "status: %zu %s (%zu encrypted), %llu %s passed, %zu withheld, %llu refused",
        counts.links, NOUN(counts.links, "connection", "connections"), counts.opaque,
        (unsigned long long)counts.passed, NOUN(counts.passed, "byte", "bytes"),
        counts.withheld[0] + counts.withheld[1], (unsigned long long)counts.refused);
}

// True when an order holds the bytes in this direction back.
static bool is_withheld(const struct console *c, enum fault_direction to)
{
    return c->undo_ns[ORDER_PARTITION] ||
           (c->undo_ns[ORDER_HALF_OPEN] && c->half_open.direction == to);
}

// Undoes one order that is at work. With `drop`, the bytes that a partition or half-open has held
// back are not passed on but dropped, by resetting all connections.
static void undo_order(struct console *c, enum order_id id, bool drop)
{
    c->undo_ns[id] = 0;
    if (id == ORDER_PARTITION || id == ORDER_HALF_OPEN)
        // A partition may end while a half-open still holds one of the two directions.
        proxy_heal(c->proxy, !is_withheld(c, TO_SERVER), !is_withheld(c, TO_COLLECTOR), drop);
    else if (id == ORDER_DELAY)
        proxy_delay(c->proxy, 0, 0);
    else if (id == ORDER_THROTTLE)
        proxy_throttle(c->proxy, 0);
    else if (id == ORDER_LIMIT_DATA)
        proxy_limit(c->proxy, 0);
    else if (id == ORDER_SLICE)
        proxy_slice(c->proxy, 0, 0);
    say_event(c, "%s is over", orders[id].name);
}

// Undoes all orders that are at work, and a cut that waits; `drop` as in undo_order. Says "healed"
// even if there was nothing to undo, because a program at the control socket waits for a line.
static void undo_all_orders(struct console *c, bool drop)
{
    for (size_t i = 0; i < ORDER_COUNT; i++) {
        if (c->undo_ns[i])
            undo_order(c, (enum order_id)i, drop);
    }
    if (c->cutting)
        proxy_forget_cut(c->proxy);
    c->cutting = false;
    say_event(c, "healed");
}

static void begin_cut(struct console *c, const struct order *o)
{
    c->cut = *o;
    c->cutting = true;
    c->warned = false;
    proxy_cut(c->proxy, &o->kind, o->n, o->side);
    say_event(c, "cut-at waits for %s number %d", o->message, o->n);
}

static void begin_half_open(struct console *c, const struct order *o)
{
    // The new order may name the other direction, so undo the old one.
    if (c->undo_ns[ORDER_HALF_OPEN])
        undo_order(c, ORDER_HALF_OPEN, false);
    c->half_open = *o;
    proxy_hold(c->proxy, o->direction == TO_SERVER, o->direction == TO_COLLECTOR);
}

static void tell_reset(const struct console *c, size_t links)
{
    say_event(c, "reset: %zu %s", links, NOUN(links, "connection", "connections"));
}

static void tell_beginning(const struct console *c, const struct order *o)
{
    const char *direction = "";

    if (o->id == ORDER_HALF_OPEN)
        direction = o->direction == TO_COLLECTOR ? " to-client" : " to-server";
    say_event(c, "%s%s began", orders[o->id].name, direction);
}

void console_apply(struct console *c, const struct order *o, int64_t now_ns)
{
    // Reports a cut that was reached, because cut-at replaces it and heal forgets it.
    console_tick(c, now_ns);
    switch (o->id) {
    case ORDER_CUT_AT:
        begin_cut(c, o);
        break;
    case ORDER_PARTITION:
        proxy_hold(c->proxy, true, true); // in both directions
        break;
    case ORDER_HALF_OPEN:
        begin_half_open(c, o);
        break;
    case ORDER_RESET:
        tell_reset(c, proxy_reset(c->proxy));
        break;
    case ORDER_DELAY:
        proxy_delay(c->proxy, o->by_ns, o->jitter_ns);
        break;
    case ORDER_THROTTLE:
        proxy_throttle(c->proxy, o->rate);
        break;
    case ORDER_LIMIT_DATA:
        proxy_limit(c->proxy, (uint64_t)o->bytes);
        break;
    case ORDER_SLICE:
        proxy_slice(c->proxy, (size_t)o->bytes, o->by_ns);
        break;
    case ORDER_HEAL:
        undo_all_orders(c, o->drop);
        break;
    case ORDER_STATUS:
        tell_status(c);
        break;
    case ORDER_HELP:
        console_help(c->out);
        break;
    case ORDER_QUIT:
    case ORDER_COUNT:
        break;
    }
    // Without "for", the order lasts until `heal`, or until the same order comes again.
    if (orders[o->id].lasts) {
        c->undo_ns[o->id] = o->for_ns > 0 ? now_ns + o->for_ns : CLOCK_NEVER;
        tell_beginning(c, o);
    }
    fflush(c->out);
}

void console_tick(struct console *c, int64_t now_ns)
{
    for (size_t i = 0; i < ORDER_COUNT; i++) {
        if (c->undo_ns[i] && c->undo_ns[i] <= now_ns)
            undo_order(c, (enum order_id)i, false);
    }
    if (c->cutting && proxy_was_cut(c->proxy)) {
        c->cutting = false;
        struct proxy_client client = proxy_cut_client(c->proxy);
        say_event(c, "cut %s %s number %d; connection %u, of the client's port %d",
            c->cut.side == CUT_BEFORE ? "before" : "after", c->cut.message, c->cut.n, client.number,
            client.port);
    } else if (c->cutting && !c->warned && proxy_counts(c->proxy).opaque > 0) {
        // Warn only once for each cut, because a connection stays encrypted.
        c->warned = true;
        say_event(c, "a connection is encrypted, so cut-at cannot see its messages; connect with "
                     "sslmode=disable");
    }
    fflush(c->out);
}
