#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "base/unit.h"
#include "postgres/sql.h"
#include "postgres/target.h"

static void a_message_is_one_line(void **state)
{
    static const struct {
        const char *text, *line;
    } cases[] = {
        {"", ""},
        {"ERROR:  no such thing\n", "ERROR: no such thing"},
        {"connection to server on socket \"/s\" failed: No such file or directory\n"
         "\tIs the server running locally and accepting connections on that socket?\n",
            "connection to server on socket \"/s\" failed: No such file or directory; Is the "
            "server running locally and accepting connections on that socket?"},
        {"server closed the connection unexpectedly\n"
         "\tThis probably means the server terminated abnormally\n"
         "\tbefore or while processing the request.\n",
            "server closed the connection unexpectedly; This probably means the server "
            "terminated abnormally before or while processing the request"},
        {"ERROR:  syntax error at or near \"x\"\nLINE 1: SELECT x x x\n                   ^\n",
            "ERROR: syntax error at or near \"x\"; LINE 1: SELECT x x x"},
        {"ERROR:  a row.\nDETAIL:  Key (id)=(1).\n\nHINT:  None.\n",
            "ERROR: a row; DETAIL: Key (id)=(1); HINT: None"},
    };
    char line[300], small[12];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sql_one_line(line, sizeof line, cases[i].text);
        assert_string_equal(line, cases[i].line);
    }
    sql_one_line(small, sizeof small, "ERROR:  first\nsecond\n");
    assert_string_equal(small, "ERROR: firs");
}

// --- a server that ends while a session begins ------------------------------------------------

#define NOTICE "SWARNING\0VWARNING\0C57P02\0Mterminating connection because of shutdown\0"

// Lets every client in, warns it and hangs up, until the socket is closed.
static void serve(int listener)
{
    static const char answer[] = "R\0\0\0\x08\0\0\0\0"
                                 "N\0\0\0\x4a" NOTICE;
    char startup[1000];

    _Static_assert(sizeof NOTICE + 4 == 0x4a, "the length counts itself");
    for (int fd; (fd = accept(listener, NULL, NULL)) >= 0; close(fd))
        if (read(fd, startup, sizeof startup) > 0 && write(fd, answer, sizeof answer) < 0)
            break;
    _exit(0);
}

static pid_t start_server(const char *folder)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(at.sun_path, sizeof at.sun_path, "%s/.s.PGSQL.5432", folder);
    assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(listener, 4), 0);
    pid_t pid = fork();
    assert_int_not_equal(pid, -1);
    if (pid == 0)
        serve(listener);
    close(listener);
    return pid;
}

static void a_notice_during_the_start_stays_off_the_terminal(void **state)
{
    char folder[] = "/tmp/sql-test-XXXXXX", conninfo[100], path[100], told[100];
    struct err e;

    assert_non_null(mkdtemp(folder));
    pid_t server = start_server(folder);
    snprintf(conninfo, sizeof conninfo, "host=%s dbname=x user=x sslmode=disable", folder);

    FILE *terminal = tmpfile();
    int stderr_was = dup(STDERR_FILENO);
    assert_non_null(terminal);
    dup2(fileno(terminal), STDERR_FILENO);
    PGconn *conn = sql_connect(conninfo, &e);
    dup2(stderr_was, STDERR_FILENO);
    close(stderr_was);
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);

    assert_null(conn);
    assert_int_equal(e.kind, ERR_CONNECTION);
    rewind(terminal);
    assert_null(fgets(told, sizeof told, terminal));
    fclose(terminal);
    snprintf(path, sizeof path, "%s/.s.PGSQL.5432", folder);
    unlink(path);
    rmdir(folder);
}

// --- a name with several addresses --------------------------------------------------------------

#define WRAP_OF(name) __wrap_##name

// The linker replaces the look-up by these functions. Every name has two addresses, and nobody
// listens at the first.
static struct sockaddr_in refusing = {.sin_family = AF_INET}, listening = {.sin_family = AF_INET};
static struct addrinfo addresses[2];

int WRAP_OF(getaddrinfo)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
void WRAP_OF(freeaddrinfo)(struct addrinfo *);

int WRAP_OF(getaddrinfo)(
    const char *name, const char *port, const struct addrinfo *hints, struct addrinfo **out)
{
    (void)name;
    (void)port;
    (void)hints;
    addresses[0] = (struct addrinfo){.ai_family = AF_INET,
        .ai_addr = (struct sockaddr *)&refusing,
        .ai_addrlen = sizeof refusing,
        .ai_next = &addresses[1]};
    addresses[1] = (struct addrinfo){.ai_family = AF_INET,
        .ai_addr = (struct sockaddr *)&listening,
        .ai_addrlen = sizeof listening};
    *out = addresses;
    return 0;
}

void WRAP_OF(freeaddrinfo)(struct addrinfo *list)
{
    assert_ptr_equal(list, addresses);
}

static void an_address_that_refuses_is_passed_over(void **state)
{
    socklen_t len = sizeof listening;
    struct sockaddr_storage found;
    struct target target;
    struct err e;
    int listener = socket(AF_INET, SOCK_STREAM, 0);

    listening.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    refusing.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
    assert_int_equal(bind(listener, (struct sockaddr *)&listening, sizeof listening), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&listening, &len), 0);
    refusing.sin_port = listening.sin_port;
    assert_true(target_init(&target, "host=two-addresses user=x", &e));
    assert_true(target_address(&target, &found, &len, &e));
    assert_int_equal(len, sizeof listening);
    assert_memory_equal(&found, &listening, sizeof listening);
    target_fini(&target);
    close(listener);
}

// The error tells libpq's reason, here that it finds no service of this name.
static void a_conninfo_without_a_user_says_why(void **state)
{
    struct target target;
    struct err e;

    assert_false(target_init(&target, "service=no-such-service", &e));
    assert_int_equal(e.kind, ERR_USAGE);
    assert_string_equal(
        e.text, "the conninfo names no user: definition of service \"no-such-service\" not found");
    target_fini(&target);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_is_one_line),
        cmocka_unit_test(a_notice_during_the_start_stays_off_the_terminal),
        cmocka_unit_test(an_address_that_refuses_is_passed_over),
        cmocka_unit_test(a_conninfo_without_a_user_says_why),
    };

    return cmocka_run_group_tests_name("sql", tests, NULL, NULL);
}
