#include "proxy/console.h"

#include <sys/socket.h>
#include <sys/stat.h>

#include "base/scrape.h"
#include "os/paths.h"
#include "scenario/units.h"

bool control_open(struct control *c, const char *path, struct err *e)
{
    *c = (struct control){.listener = -1};
    for (size_t i = 0; i < CONTROL_CLIENTS; i++)
        c->clients[i].fd = -1;
    if (!path)
        return true;
    // The mask keeps other users from connecting, from the moment at which the socket exists.
    mode_t mask = umask(0177);
    c->listener = scrape_listen_path(path, e);
    umask(mask);
    if (c->listener < 0)
        return err_prefix(e, "--control");
    c->path = path;
    return true;
}

static void drop_client(struct control_client *client)
{
    close(client->fd);
    client->fd = -1;
}

void control_close(struct control *c)
{
    for (size_t i = 0; i < CONTROL_CLIENTS; i++) {
        if (c->path && c->clients[i].fd >= 0)
            drop_client(&c->clients[i]);
    }
    if (c->path) {
        close(c->listener);
        unlink(c->path);
    }
    c->path = NULL;
}

// Accepts the clients that wait, as far as there are free places; the others go on waiting.
static void accept_clients(struct control *c)
{
    for (size_t i = 0; i < CONTROL_CLIENTS; i++) {
        if (c->clients[i].fd >= 0)
            continue;
        int fd = accept4(c->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0)
            return;
        c->clients[i] = (struct control_client){.fd = fd};
    }
}

// Obeys a line and answers. Drops a client that does not read its answers, because the proxy waits
// for nobody. Returns false when the line is the order to quit.
static bool answer_command(
    struct control_client *client, const char *line, control_obey *obey, void *arg)
{
    struct buf text FREED_BY(buf_fini) = BUF_INIT(1 << 16);

    bool go_on = obey(arg, line, &text);
    if (buf_str(&text) && send(client->fd, text.data, text.len, MSG_NOSIGNAL) != (ssize_t)text.len)
        drop_client(client);
    return go_on;
}

// Reads what a client has sent and obeys each complete line. False when one was the order to quit.
static bool serve_control(struct control_client *client, control_obey *obey, void *arg)
{
    bool go_on = true;
    char *newline;
    ssize_t got =
        read(client->fd, client->text + client->len, sizeof client->text - 1 - client->len);

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    if (got <= 0) {
        drop_client(client);
        return true;
    }
    client->len += (size_t)got;
    client->text[client->len] = '\0';
    while (go_on && client->fd >= 0 && (newline = strchr(client->text, '\n'))) {
        *newline = '\0';
        go_on = answer_command(client, client->text, obey, arg);
        client->len -= (size_t)(newline + 1 - client->text);
        memmove(client->text, newline + 1, client->len + 1);
    }
    // A line that fills the buffer is too long for an order, and there is no room to read its end.
    if (client->fd >= 0 && client->len == sizeof client->text - 1)
        drop_client(client);
    return go_on;
}

bool control_serve(struct control *c, control_obey *obey, void *arg)
{
    bool go_on = true;

    if (!c->path)
        return true;
    accept_clients(c);
    for (size_t i = 0; go_on && i < CONTROL_CLIENTS; i++) {
        if (c->clients[i].fd >= 0)
            go_on = serve_control(&c->clients[i], obey, arg);
    }
    return go_on;
}

// --- orders with times ---------------------------------------------------------------

#define SCRIPT_MAX (1u << 20)
#define SCRIPT_LINES_MAX 10000

// Parses "TIME ORDER"; writes into the text.
static bool parse_script_line(struct script_line *line, char *text, struct err *e)
{
    char *time = text + strspn(text, " \t"), *rest = time + strcspn(time, " \t\r");

    if (*rest)
        *rest++ = '\0';
    return units_duration(time, &line->at_ns, e) && console_parse(rest, &line->order, e);
}

// Inserts a line by its time, because a script's lines may stand in any order. Of two lines with
// the same time, the earlier line comes first.
static void insert_script_line(struct script *s, const struct script_line *line)
{
    size_t at = s->count++;

    for (; at > 0 && s->lines[at - 1].at_ns > line->at_ns; at--)
        s->lines[at] = s->lines[at - 1];
    s->lines[at] = *line;
}

bool script_parse(struct script *s, const char *text, struct err *e)
{
    char *copy = memory_copy(text), *rest = copy;
    bool ok = true;

    *s = (struct script){.lines = memory_zeroed(SCRIPT_LINES_MAX, sizeof *s->lines)};
    // Empty lines are numbered, too, so that an error names the line that an editor shows.
    for (size_t number = 1; ok && rest; number++) {
        char *line = strsep(&rest, "\n");
        struct script_line parsed;
        line[strcspn(line, "#")] = '\0';
        if (!line[strspn(line, " \t\r")])
            continue;
        if (s->count == SCRIPT_LINES_MAX)
            ok = err_set(e, ERR_USAGE, "a script has at most %d orders", SCRIPT_LINES_MAX);
        else if (parse_script_line(&parsed, line, e))
            insert_script_line(s, &parsed);
        else
            ok = err_prefix(e, "line %zu", number);
    }
    free(copy);
    return ok;
}

bool script_read(struct script *s, const char *path, struct err *e)
{
    struct buf text FREED_BY(buf_fini) = BUF_INIT(SCRIPT_MAX);

    *s = (struct script){0};
    return (path_read(path, &text, ERR_USAGE, e) &&
               (script_parse(s, text.data, e) || err_prefix(e, "%.200s", path))) ||
           err_prefix(e, "--script");
}

void script_fini(struct script *s)
{
    free(s->lines);
    *s = (struct script){0};
}

const struct order *script_due(struct script *s, int64_t since_start_ns)
{
    if (s->next == s->count || s->lines[s->next].at_ns > since_start_ns)
        return NULL;
    return &s->lines[s->next++].order;
}
