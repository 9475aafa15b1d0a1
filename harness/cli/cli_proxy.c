// mailproof proxy: runs the fault proxy alone, between any client of PostgreSQL and its server.
#include "cli/cli.h"

#include <netdb.h>
#include <poll.h>

#include "os/interrupt.h"
#include "proxy/console.h"

#define TICK_NS (20 * NS_PER_MS)
#define INPUT_MAX 4096

// Parses an address: HOST:PORT, [V6]:PORT, :PORT or PORT. Without a host, only this machine can
// connect.
static bool parse_listen(const char *text, struct proxy_open *open, struct err *e)
{
    char host[256] = "127.0.0.1";
    const char *colon = strrchr(text, ':'), *port = colon ? colon + 1 : text;
    size_t len = colon ? (size_t)(colon - text) : 0;
    struct addrinfo hints = {.ai_flags = AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    bool bracketed = len >= 2 && text[0] == '[' && text[len - 1] == ']';
    char *end;
    long number = strtol(port, &end, 10);

    if (len >= sizeof host || !*port || *end || number < 0 || number > 65535)
        return err_set(e, ERR_USAGE, "--listen takes HOST:PORT or PORT, not '%.100s'", text);
    if (len)
        snprintf(host, sizeof host, "%.*s", (int)(bracketed ? len - 2 : len), text + bracketed);
    int code = getaddrinfo(host, port, &hints, &found);
    if (code != 0)
        return err_set(e, ERR_USAGE, "--listen takes HOST:PORT or PORT, not '%.100s': %s", text,
            gai_strerror(code));
    memcpy(&open->at, found->ai_addr, found->ai_addrlen);
    open->at_len = found->ai_addrlen;
    freeaddrinfo(found);
    return true;
}

// Carries out --cut-at, --n and --side as one order.
static bool apply_cut_option(struct console *c, const struct options *o, struct err *e)
{
    struct order order;
    char line[300];

    if (!o->cut_at)
        return !(o->proxy.side || o->proxy.nth) ||
               err_set(e, ERR_USAGE, "--n and --side belong to --cut-at");
    if (o->proxy.side && strcmp(o->proxy.side, "before") != 0 &&
        strcmp(o->proxy.side, "after") != 0)
        return err_set(e, ERR_USAGE, "--side takes before or after, not '%.40s'", o->proxy.side);
    snprintf(line, sizeof line, "cut-at %s %s %s", o->proxy.side ? o->proxy.side : "before",
        o->proxy.nth ? o->proxy.nth : "1", o->cut_at);
    if (!console_parse(line, &order, e))
        return err_prefix(e, "--cut-at");
    console_apply(c, &order, clock_now_ns());
    return true;
}

// Carries out one line of orders. Errors are printed. Returns false when the order is to quit.
static bool obey_line(struct console *c, const char *line)
{
    struct order order;
    struct err e = {0};

    if (!line[strspn(line, " \t\r")])
        return true;
    if (!console_parse(line, &order, &e))
        fprintf(stderr, "mailproof proxy: %s\n", e.text);
    else if (order.id == ORDER_QUIT)
        return false;
    else
        console_apply(c, &order, clock_now_ns());
    return true;
}

// Carries out a line of the control socket. The output that the order causes goes into `answer` as
// well. Returns false when the order is to quit.
static bool obey_control(void *arg, const char *line, struct buf *answer)
{
    struct console *c = arg;
    FILE *out = c->out;
    struct order order;
    struct err e = {0};
    char *text = NULL;
    size_t len = 0;

    // A wrong order does not end the proxy, so the result is true, whether the error fits or not.
    if (!console_parse(line, &order, &e))
        return buf_printf(answer, "error: %s\n", e.text) || true;
    if (order.id == ORDER_QUIT)
        return false;
    // The answer tells only what the order does. What happened before goes to our own output now.
    console_tick(c, clock_now_ns());
    // Our own output gets the same text, so that the proxy's log has everything that happened.
    FILE *both = open_memstream(&text, &len);
    if (!both)
        return buf_append_str(answer, "error: out of memory\n") || true;
    c->out = both;
    console_apply(c, &order, clock_now_ns());
    c->out = out;
    fclose(both);
    fwrite(text, 1, len, out);
    fflush(out);
    buf_append(answer, text, len);
    free(text);
    return true;
}

// The beginning of a line that has come on standard input. The rest has not come yet.
struct input {
    char text[INPUT_MAX];
    size_t len;
    bool too_long; // the beginning did not fit, and was dropped
    bool ended;
};

// Reads what has come on standard input, and obeys each whole line. Returns false when an order is
// to quit.
static bool read_orders(struct console *c, struct input *in)
{
    ssize_t n = read(STDIN_FILENO, in->text + in->len, sizeof in->text - 1 - in->len);
    char *newline;
    bool go_on = true;

    if (n <= 0) {
        in->ended = n == 0 || (errno != EINTR && errno != EAGAIN);
        // The last line may lack its newline.
        return !in->ended || in->len == 0 || in->too_long || obey_line(c, in->text);
    }
    in->len += (size_t)n;
    in->text[in->len] = '\0';
    while (go_on && (newline = strchr(in->text, '\n'))) {
        *newline = '\0';
        go_on = in->too_long || obey_line(c, in->text);
        in->too_long = false;
        in->len -= (size_t)(newline + 1 - in->text);
        memmove(in->text, newline + 1, in->len + 1);
    }
    // The buffer is full without a newline, so there is no room for the rest of the line.
    if (in->len == sizeof in->text - 1) {
        if (!in->too_long)
            fputs("mailproof proxy: an order is too long\n", stderr);
        in->too_long = true;
        in->len = 0;
    }
    return go_on;
}

// Where orders come from, apart from the command line and standard input.
struct sources {
    struct script script;
    struct control control;
};

// Carries out the script's orders whose time has come. Returns false when one of them is to quit.
static bool follow_script(struct console *c, struct script *script)
{
    const struct order *order;

    while ((order = script_due(script, clock_now_ns() - c->start_ns))) {
        if (order->id == ORDER_QUIT)
            return false;
        console_apply(c, order, clock_now_ns());
    }
    return true;
}

// Serves until an order to quit or a signal. When standard input ends, the proxy goes on.
static void serve_proxy(struct console *c, struct sources *from)
{
    struct input in = {0};
    bool go_on = true;

    while (go_on && !interrupt_signal()) {
        struct pollfd fd = {.fd = in.ended ? -1 : STDIN_FILENO, .events = POLLIN};
        int64_t now = clock_now_ns();
        if (poll(&fd, 1, clock_poll_ms(now, now + TICK_NS)) > 0)
            go_on = read_orders(c, &in);
        go_on = go_on && control_serve(&from->control, obey_control, c) &&
                follow_script(c, &from->script);
        console_tick(c, clock_now_ns());
    }
}

// Checks that --to is a conninfo or a URI. target_init would check it, too, but its error would
// name --postgres, an option of other commands.
static bool check_to(const char *to, struct err *e)
{
    PQconninfoOption *parsed = PQconninfoParse(to, NULL);
    bool ok = parsed && (strchr(to, '=') || strstr(to, "://"));

    PQconninfoFree(parsed);
    return ok || err_set(e, ERR_USAGE,
                     "--to takes a conninfo such as 'host=db port=5432' or postgresql://db");
}

// Carries out the orders of the command line, and then prints the port. So the faults are in place
// before anybody knows the port. What the orders print is kept until then, so that a script finds
// the port in the first line. *quits: an order was to quit. Returns false when --cut-at, --n or
// --side is wrong, or memory is short.
static bool apply_options(struct console *c, const struct options *o, bool *quits, struct err *e)
{
    char *text FREED_BY(memory_free) = NULL;
    size_t len = 0;
    FILE *later = open_memstream(&text, &len);

    if (!later)
        return err_memory(e);
    c->out = later;
    bool ok = apply_cut_option(c, o, e);
    for (size_t i = 0; ok && !*quits && o->args[i]; i++)
        *quits = !obey_line(c, o->args[i]);
    c->out = stdout;
    fclose(later);
    if (ok)
        printf("listening on port %d\n%s", proxy_port(c->proxy), text);
    fflush(stdout);
    return ok;
}

// Checks the options, starts the proxy and serves. Returns false when the proxy could not start.
static bool run_proxy(const struct options *o, struct target *target, struct console *c,
    struct sources *from, struct err *e)
{
    struct proxy_open open = {.to = target};
    bool quits = false;

    if (!o->listen || !o->proxy.to)
        return err_set(
            e, ERR_USAGE, "proxy: --listen and --to are needed; see mailproof proxy --help");
    if (!parse_listen(o->listen, &open, e) || !check_to(o->proxy.to, e) ||
        !target_init(target, o->proxy.to, e))
        return false;
    // All orders are checked before the proxy listens.
    for (size_t i = 0; o->args[i]; i++) {
        struct order order;
        if (!console_parse(o->args[i], &order, e))
            return false;
    }
    if ((o->proxy.script && !script_read(&from->script, o->proxy.script, e)) ||
        !control_open(&from->control, o->proxy.control, e))
        return false;
    c->proxy = proxy_start_open(&open, e);
    if (!c->proxy)
        return err_prefix(e, "--listen %.100s", o->listen);
    c->start_ns = clock_now_ns();
    if (!apply_options(c, o, &quits, e))
        return false;
    if (!quits)
        serve_proxy(c, from);
    return true;
}

int cli_proxy(const struct options *o)
{
    struct target target = {0};
    struct console console = {.out = stdout};
    struct sources from = {0};
    struct err e = {0};

    bool ok = run_proxy(o, &target, &console, &from, &e);
    control_close(&from.control);
    script_fini(&from.script);
    proxy_free(console.proxy);
    target_fini(&target);
    return ok ? EXIT_OK : cli_fail(&e);
}
