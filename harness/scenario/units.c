#include "scenario/units.h"

#include <math.h>
#include <ctype.h>

#define DIGITS_MAX 9
#define BILLION INT64_C(1000000000)

static const struct unit {
    const char *name;
    int64_t ns;
} units[] = {
    {"us", NS_PER_US},
    {"ms", NS_PER_MS},
    {"s", NS_PER_S},
    {"m", 60 * NS_PER_S},
    {"h", 3600 * NS_PER_S},
};

// A decimal number as an integer and billionths, with its place in the text.
struct decimal {
    int64_t whole;
    int64_t billionths;
    const char *start, *end;
};

// Reads a number of up to DIGITS_MAX digits, and returns what follows it. NULL when there is no
// digit, or when there are too many.
static const char *read_digits(const char *p, int64_t *value, int *digits)
{
    *value = 0;
    *digits = 0;
    for (; isdigit((unsigned char)*p); p++) {
        // Refused before they could overflow: nine digits fit even into 32 bits.
        if (++*digits > DIGITS_MAX)
            return NULL;
        *value = *value * 10 + (*p - '0');
    }
    return *digits > 0 ? p : NULL;
}

// Reads the number with which a text begins. False when there is none, or it has too many digits.
static bool read_decimal(const char *text, struct decimal *d)
{
    int digits;

    *d = (struct decimal){.start = text};
    d->end = read_digits(text, &d->whole, &digits);
    if (d->end && *d->end == '.' && isdigit((unsigned char)d->end[1])) {
        d->end = read_digits(d->end + 1, &d->billionths, &digits);
        // "0.5" has 500000000 billionths.
        for (; d->end && digits < DIGITS_MAX; digits++)
            d->billionths *= 10;
    }
    return d->end != NULL;
}

// Returns the decimal as the nearest double.
static double decimal_value(const struct decimal *d)
{
    char digits[2 * DIGITS_MAX + 2];

    snprintf(digits, sizeof digits, "%.*s", (int)(d->end - d->start), d->start);
    return strtod(digits, NULL);
}

// Rounds to a number that can be written and read back unchanged, because a stored scenario
// must be the same as the one that was run.
static double writable(double number)
{
    char digits[64];

    snprintf(digits, sizeof digits, "%.*f", DIGITS_MAX, number);
    return strtod(digits, NULL);
}

bool units_duration(const char *text, int64_t *ns, struct err *e)
{
    static const char hint[] = "write a duration such as 20s, 300ms or 5m";
    struct decimal d;

    if (!read_decimal(text, &d))
        return err_set(e, ERR_USAGE, "'%s' is not a duration; %s", text, hint);
    if (*d.end == '\0')
        return err_set(e, ERR_USAGE, "'%s' has no unit; %s", text, hint);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        const struct unit *u = &units[i];
        if (strcmp(u->name, d.end) != 0)
            continue;
        // Half of the range leaves room for the fraction, and for sums of durations.
        if (d.whole > INT64_MAX / 2 / u->ns)
            return err_set(e, ERR_USAGE, "'%s' is longer than this program can count", text);
        int64_t fraction =
            u->ns >= BILLION ? d.billionths * (u->ns / BILLION) : d.billionths / (BILLION / u->ns);
        *ns = d.whole * u->ns + fraction;
        return true;
    }
    return err_set(
        e, ERR_USAGE, "'%s' ends in an unknown unit; the units are us, ms, s, m and h", text);
}

bool units_count(const char *text, int64_t *count, struct err *e)
{
    char *end;

    // Checks the text first, because strtoll would also take blanks and signs. 18 digits always fit
    // into 64 bits.
    bool ok = isdigit((unsigned char)*text) && strlen(text) <= 18;
    if (ok) {
        *count = strtoll(text, &end, 10);
        ok = *end == '\0';
    }
    return ok || err_set(e, ERR_USAGE, "'%s' is not a whole number", text);
}

bool units_range(const char *text, int64_t *from, int64_t *to, struct err *e)
{
    const char *dots = strstr(text, "..");
    char first[20];

    if (!dots) {
        bool ok = units_count(text, from, e);
        *to = *from;
        return ok;
    }
    // A number that does not fit is cut off, and then is too long for units_count.
    snprintf(first, sizeof first, "%.*s", (int)(dots - text), text);
    if (units_count(first, from, e) && units_count(dots + 2, to, e))
        return true;
    return err_set(
        e, ERR_USAGE, "'%s' is neither a number such as 10 nor a range such as 1..100", text);
}

bool units_number(const char *text, double *number, struct err *e)
{
    struct decimal d;

    if (!read_decimal(text, &d) || *d.end != '\0')
        return err_set(e, ERR_USAGE, "'%s' is not a number such as 3 or 0.25", text);
    *number = decimal_value(&d);
    return true;
}

bool units_share(const char *text, double *share, struct err *e)
{
    struct decimal d;

    if (!read_decimal(text, &d) || (*d.end != '\0' && strcmp(d.end, "%") != 0))
        return err_set(e, ERR_USAGE, "'%s' is not a share such as 0.25 or 25%%", text);
    *share = *d.end ? writable(decimal_value(&d) / 100) : decimal_value(&d);
    return true;
}

bool units_bytes_per_second(const char *text, double *rate, struct err *e)
{
    static const struct {
        const char *name;
        double bytes;
    } sizes[] = {{"B/s", 1}, {"kB/s", 1e3}, {"MB/s", 1e6}};
    struct decimal d;

    bool ok = read_decimal(text, &d);
    for (size_t i = 0; ok && i < sizeof sizes / sizeof *sizes; i++) {
        if (strcmp(d.end, sizes[i].name) != 0)
            continue;
        *rate = writable(decimal_value(&d) * sizes[i].bytes);
        return true;
    }
    return err_set(e, ERR_USAGE, "'%s' is not a rate in bytes; write one such as 20kB/s", text);
}

// Reads a rate such as "200/s" at `p`, and sets *end to what follows it. `text` is the whole value,
// for the error.
static bool read_rate(
    const char *text, const char *p, double *rate, const char **end, struct err *e)
{
    static const char hint[] = "write a rate such as 200/s or a ramp such as 100/s..2000/s";
    struct decimal d;

    if (!read_decimal(p, &d))
        return err_set(e, ERR_USAGE, "'%s' is not a rate; %s", text, hint);
    if (*d.end == '\0' || *d.end == '.') // '.': of the ".." of a ramp
        return err_set(e, ERR_USAGE, "'%s' has no unit; %s", text, hint);
    if (d.end[0] != '/' || d.end[1] != 's')
        return err_set(e, ERR_USAGE, "'%s' is not a rate; %s", text, hint);
    *rate = decimal_value(&d);
    *end = d.end + 2;
    return true;
}

bool units_per_second(const char *text, double *rate, struct err *e)
{
    const char *end = text;

    if (!read_rate(text, text, rate, &end, e))
        return false;
    return *end == '\0' || err_set(e, ERR_USAGE, "'%s' is not a rate such as 200/s", text);
}

bool units_rate(const char *text, double *from, double *to, struct err *e)
{
    const char *end = text;

    if (!read_rate(text, text, from, &end, e))
        return false;
    *to = *from;
    if (strncmp(end, "..", 2) == 0 && !read_rate(text, end + 2, to, &end, e))
        return false;
    return *end == '\0' ||
           err_set(e, ERR_USAGE, "'%s' is not a rate such as 200/s or 100/s..2000/s", text);
}

bool units_comparison(const char *text, char comparison[3], const char **operand, struct err *e)
{
    // The longer signs come first, because "<" is the beginning of "<=".
    static const char *const all[] = {"<=", ">=", "!=", "=", "<", ">"};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        size_t len = strlen(all[i]);
        if (strncmp(text, all[i], len) != 0)
            continue;
        snprintf(comparison, 3, "%s", all[i]);
        *operand = text + len + strspn(text + len, " ");
        return true;
    }
    return err_set(e, ERR_USAGE,
        "'%s' compares nothing; begin with =, !=, <, <=, > or >=, such as \"= 0\"", text);
}

bool units_print_duration(struct buf *out, int64_t ns)
{
    if (ns < 0) {
        buf_append_char(out, '-');
        ns = -ns;
    }
    // Tries seconds first, then shorter units, but skips a unit in which the number would have more
    // digits than read_digits takes.
    for (size_t i = 3; i-- > 0;) // units[2] is a second
        if (ns % units[i].ns == 0 && ns / units[i].ns < BILLION)
            return buf_printf(out, "%lld%s", (long long)(ns / units[i].ns), units[i].name);
    if (ns / NS_PER_US < BILLION)
        return buf_printf(
            out, "%lld.%03lldus", (long long)(ns / NS_PER_US), (long long)(ns % NS_PER_US));
    return buf_printf(out, "%lld.%09llds", (long long)(ns / NS_PER_S), (long long)(ns % NS_PER_S));
}

bool units_print_number(struct buf *out, double number)
{
    char text[64];

    for (int places = 0; places <= DIGITS_MAX; places++) {
        snprintf(text, sizeof text, "%.*f", places, number);
        // The shortest text that reads back as the same number.
        if (strtod(text, NULL) == number)
            break;
    }
    return buf_append_str(out, text);
}
