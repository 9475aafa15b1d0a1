#include "postgres/cluster/rest.h"

#include <curl/curl.h>
#include <jansson.h>

#include "os/cluster_net.h"

static const long answer_limit_s = 30;

// --- over the wire ------------------------------------------------------------------

// What the callbacks of libcurl need.
struct exchange {
    int net;        // where the socket is made, as in struct rest_target
    bool no_socket; // true: `why` says why it could not be made
    struct err why;
    struct buf text; // the body of the answer
};

// The callback of libcurl that makes the socket.
static curl_socket_t open_rest_socket(
    void *exchange, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct exchange *x = exchange;
    int fd = cluster_net_socket(x->net, &x->why);

    (void)purpose;
    (void)address;
    x->no_socket = fd < 0;
    return fd < 0 ? CURL_SOCKET_BAD : fd;
}

// The callback of libcurl that keeps a piece of the body. To take less than the piece ends the
// request.
static size_t keep_rest_text(char *piece, size_t size, size_t count, void *exchange)
{
    struct exchange *x = exchange;

    return buf_append(&x->text, piece, size * count) ? size * count : 0;
}

static void set_rest_target(CURL *easy, const struct rest_target *t)
{
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http");
    // open_rest_socket makes IPv4 sockets only.
    curl_easy_setopt(easy, CURLOPT_IPRESOLVE, CURL_IPRESOLVE_V4);
    // A proxy that the environment names does not know the addresses of the cluster's network.
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    // Other threads run meanwhile, and a signal of a time limit would reach one of them.
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT, answer_limit_s);
    if (t->user) {
        curl_easy_setopt(easy, CURLOPT_USERNAME, t->user);
        curl_easy_setopt(easy, CURLOPT_PASSWORD, t->password);
    }
}

// Sends the request, and keeps the answer's body in the exchange and its status in *status.
static bool exchange_rest(CURL *easy, struct exchange *x, long *status, struct err *e)
{
    char why[CURL_ERROR_SIZE] = "";

    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_rest_socket);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, x);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, keep_rest_text);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, x);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, why);
    CURLcode result = curl_easy_perform(easy);
    if (x->text.failed)
        return err_set(e, ERR_CONNECTION, "the answer is too long");
    if (result != CURLE_OK && x->no_socket) {
        *e = x->why;
        return false;
    }
    if (result != CURLE_OK)
        return err_set(e, ERR_CONNECTION, "%s", *why ? why : curl_easy_strerror(result));
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, status);
    return true;
}

bool rest_ask(const struct rest_target *t, const char *method, const char *path, const char *body,
    struct rest_answer *out, struct err *e)
{
    CURL *easy = curl_easy_init();
    struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
    struct exchange x = {.net = t->net};
    char url[400];
    long status = 0;

    snprintf(url, sizeof url, "http://%s:%d%s", t->host, t->port, path);
    buf_init(&x.text, sizeof out->text - 1);
    bool ok = (easy && headers) || err_memory(e);
    if (ok) {
        curl_easy_setopt(easy, CURLOPT_URL, url);
        curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method);
        if (body) {
            curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
            curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body);
        }
        set_rest_target(easy, t);
        ok = exchange_rest(easy, &x, &status, e);
    }
    if (ok) {
        out->status = (int)status;
        snprintf(
            out->text, sizeof out->text, "%.*s", (int)x.text.len, x.text.len ? x.text.data : "");
    }
    curl_slist_free_all(headers);
    curl_easy_cleanup(easy);
    buf_fini(&x.text);
    return ok || err_prefix(e, "%s %s", method, url);
}

// --- reading an answer --------------------------------------------------------------

// Reads one member of the list. False when a field is missing that every member has.
static bool parse_rest_member(const json_t *item, struct rest_member *m)
{
    const char *name, *role, *state, *host = "";

    *m = (struct rest_member){0};
    if (json_unpack((json_t *)item, "{s:s, s:s, s:s, s?s, s?i, s?i}", "name", &name, "role", &role,
            "state", &state, "host", &host, "port", &m->port, "timeline", &m->timeline) != 0)
        return false;
    snprintf(m->name, sizeof m->name, "%s", name);
    snprintf(m->role, sizeof m->role, "%s", role);
    snprintf(m->state, sizeof m->state, "%s", state);
    snprintf(m->host, sizeof m->host, "%s", host);
    return true;
}

bool rest_members(const char *json, struct rest_member *members, size_t *count, struct err *e)
{
    json_error_t why;
    json_t *root FREED_BY(json_decrefp) = json_loads(json, 0, &why);
    const json_t *list = json_object_get(root, "members");
    bool ok = json_is_array(list);

    *count = 0;
    for (size_t i = 0; ok && i < json_array_size(list) && *count < REST_MEMBERS_MAX; i++)
        ok = parse_rest_member(json_array_get(list, i), &members[(*count)++]);
    return ok ||
           err_set(e, ERR_CONNECTION, "this is not a list of a cluster's members: %.60s", json);
}

const struct rest_member *rest_leader(const struct rest_member *members, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(members[i].role, "leader") == 0 && strcmp(members[i].state, "running") == 0)
            return &members[i];
    }
    return NULL;
}
