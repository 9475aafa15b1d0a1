// proxy_bench SOCKET [QUESTIONS]: measures how much the proxy slows down a round trip and a stream,
// compared with the server's own socket. Prints one line of name=value for ci/bench.
//
// proxy_bench SOCKET serve: prints the conninfo of a proxy and keeps it until standard input ends,
// for programs that run through it.
#include <libpq-fe.h>
#include <sys/un.h>

#include "fault/proxy.h"
#include "measure/histogram.h"

#define BLOCK 100 // number of questions asked one way before it is the other way's turn
#define STREAMS 5
#define STREAM "SELECT repeat('x', 1000) FROM generate_series(1, 50000)"
#define STREAM_BYTES (50000 * 1000)

enum way { DIRECT, PROXIED, WAYS };

struct bench {
    PGconn *conns[WAYS];
    struct histogram trips[WAYS];
    int64_t stream_ns[WAYS];
};

static const char *socket_path;

static bool address_of_socket(
    const struct server *s, struct sockaddr_storage *out, socklen_t *len, struct err *e)
{
    struct sockaddr_un *un = (struct sockaddr_un *)(void *)out;

    (void)s;
    *un = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(socket_path) >= sizeof un->sun_path)
        return err_set(e, ERR_USAGE, "the socket's path is too long");
    memcpy(un->sun_path, socket_path, strlen(socket_path) + 1);
    *len = sizeof *un;
    return true;
}

static const struct provider provider = {.name = "bench", .address = address_of_socket};

static bool timed(PGconn *conn, const char *question, int64_t *took_ns, struct err *e)
{
    int64_t began_ns = clock_now_ns();
    PGresult *result FREED_BY(sql_clear) = PQexec(conn, question);
    bool ok = PQresultStatus(result) == PGRES_TUPLES_OK;

    *took_ns = clock_now_ns() - began_ns;
    return ok || err_set(e, ERR_SQL, "%s: %s", question, PQerrorMessage(conn));
}

static bool ask(struct bench *b, enum way way, int count, struct err *e)
{
    int64_t took_ns;

    for (int i = 0; i < count; i++) {
        if (!timed(b->conns[way], "SELECT 1", &took_ns, e))
            return false;
        histogram_record(&b->trips[way], took_ns);
    }
    return true;
}

// The first turn of each way is a warm-up and is not counted.
static bool measure(struct bench *b, long questions, struct err *e)
{
    int64_t took_ns;

    for (long asked = -BLOCK; asked < questions; asked += BLOCK) {
        for (int way = 0; way < WAYS; way++) {
            if (!ask(b, (enum way)way, BLOCK, e))
                return false;
            if (asked < 0)
                histogram_clear(&b->trips[way]);
        }
    }
    for (int i = 0; i < STREAMS; i++) {
        for (int way = 0; way < WAYS; way++) {
            if (!timed(b->conns[way], STREAM, &took_ns, e))
                return false;
            b->stream_ns[way] += took_ns;
        }
    }
    return true;
}

static void print(const struct bench *b)
{
    static const char *const names[WAYS] = {"direct", "proxied"};

    for (int way = 0; way < WAYS; way++) {
        const struct histogram *h = &b->trips[way];
        printf("%s_p50_us=%.1f %s_p99_us=%.1f %s_mb_s=%.1f%c", names[way],
            (double)histogram_percentile(h, 50) / 1e3, names[way],
            (double)histogram_percentile(h, 99) / 1e3, names[way],
            STREAMS * (STREAM_BYTES / 1e6) / ((double)b->stream_ns[way] / 1e9),
            way == PROXIED ? '\n' : ' ');
    }
}

// Connects without sql_connect, whose options would replace the proxy's password.
static PGconn *connect_to(const char *conninfo, struct err *e)
{
    PGconn *conn = PQconnectdb(conninfo);

    if (PQstatus(conn) == CONNECTION_OK)
        return conn;
    err_set(e, ERR_CONNECTION, "%s", PQerrorMessage(conn));
    PQfinish(conn);
    return NULL;
}

static bool compare(const char *conninfo, long questions, struct err *e)
{
    struct bench b = {0};

    histogram_init(&b.trips[DIRECT], NS_PER_S);
    histogram_init(&b.trips[PROXIED], NS_PER_S);
    bool ok = (b.conns[DIRECT] = connect_to("", e)) &&
              (b.conns[PROXIED] = connect_to(conninfo, e)) && measure(&b, questions, e);
    if (ok)
        print(&b);
    for (int way = 0; way < WAYS; way++) {
        PQfinish(b.conns[way]);
        histogram_fini(&b.trips[way]);
    }
    return ok;
}

static bool serve(const char *conninfo)
{
    char byte;

    puts(conninfo);
    fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    return true;
}

int main(int argc, char *argv[])
{
    const struct server server = {.provider = &provider};
    struct buf conninfo FREED_BY(buf_fini) = BUF_INIT(4096);
    struct err e = {0};

    if (argc < 2) {
        fprintf(stderr, "usage: proxy_bench SOCKET [QUESTIONS | serve]\n");
        return 64;
    }
    socket_path = argv[1];
    struct proxy *proxy = proxy_start(&server, &e);
    bool ok = proxy && proxy_conninfo(proxy, &conninfo, &e);
    if (ok && argc > 2 && strcmp(argv[2], "serve") == 0)
        ok = serve(conninfo.data);
    else if (ok)
        ok = compare(conninfo.data, argc > 2 ? atol(argv[2]) : 20000, &e);
    if (!ok)
        fprintf(stderr, "proxy_bench: %s\n", e.text);
    proxy_free(proxy);
    return ok ? 0 : 1;
}
