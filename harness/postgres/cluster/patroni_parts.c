// Finds the programs of a cluster, starts them on their leashes, and kills them.
#include "postgres/cluster/patroni.h"

#include <fcntl.h>
#include <signal.h>

#include "os/command_line.h"
#include "os/interrupt.h"
#include "os/paths.h"
#include "os/postmasters.h"
#include "os/process.h"
#include "postgres/cluster/rest.h"

// With LC_ALL and HOME this is the whole environment of the programs. Variables of the user such as
// PATRONI_…, ETCD_… and PG… would change what they do.
#define PATH_OF_PARTS "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

static const int64_t kill_limit_ns = 30 * NS_PER_S;
static const int64_t store_limit_ns = 30 * NS_PER_S;
static const int64_t poll_ns = 20 * NS_PER_MS;

bool parts_find(struct patroni *p, struct err *e)
{
    static const char *const programs[] = {"patroni", "etcd", "haproxy"};
    char path[PATH_MAX];

    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        if (!path_program(path, strchr(PATH_OF_PARTS, '=') + 1, programs[i]))
            return err_set(e, ERR_SKIP,
                "provider: patroni needs %s, which is not installed (Debian: patroni, "
                "etcd-server, haproxy)",
                programs[i]);
    }
    return path_helper(p->leash, "mailproof-leash", ERR_SYSTEM, e);
}

// --- command lines --------------------------------------------------------------------

struct command_line {
    char **words; // owned, ends with NULL
    size_t count;
};

static void add_word(struct command_line *c, const char *word)
{
    command_line_add(&c->words, &c->count, memory_copy(word));
}

// Adds the path of a file as one word.
static void add_file(struct command_line *c, const char *dir, const char *name)
{
    command_line_add(&c->words, &c->count, memory_format("%s/%s", dir, name));
}

// Begins with the leash, and with `env`, which gives the program an environment of its own.
static void begin_command_line(struct command_line *c, const struct patroni *p)
{
    add_word(c, p->leash);
    command_line_split(&c->words, &c->count, "env -i LC_ALL=C.UTF-8 " PATH_OF_PARTS);
    command_line_add(&c->words, &c->count, memory_format("HOME=%s", p->dir.server));
}

static void add_etcd_words(struct command_line *c, const struct patroni *p)
{
    const struct patroni_place *at = &p->at.store;
    // etcd asks its peers for no password. This etcd has no peers, so it listens for them at a
    // socket in the working folder, which nobody else can reach. The password is random, so it
    // needs no slow hash.
    char *options FREED_BY(memory_free) = memory_format(
        "--listen-client-urls http://%s:%d --advertise-client-urls http://%s:%d"
        " --listen-peer-urls unix://peers:1 --initial-advertise-peer-urls unix://peers:1"
        " --initial-cluster default=unix://peers:1 --heartbeat-interval 100"
        " --election-timeout 1000 --bcrypt-cost 4",
        at->host, at->port, at->host, at->port);

    add_word(c, "etcd");
    add_word(c, "--data-dir");
    add_file(c, p->dir.server, "etcd");
    command_line_split(&c->words, &c->count, options);
}

// Makes the command line of one program, with its leash in front.
static void make_command_line(
    struct command_line *c, const struct patroni *p, enum patroni_part part)
{
    char name[8], file[16];

    begin_command_line(c, p);
    switch (part) {
    case PART_STORE:
        add_etcd_words(c, p);
        break;
    case PART_PROXY:
        // -db: it stays in the foreground, as one process.
        command_line_split(&c->words, &c->count, "haproxy -db -f");
        add_file(c, p->dir.path, "haproxy.cfg");
        break;
    default:
        snprintf(file, sizeof file, "%s.yml", patroni_member((int)part, name));
        add_word(c, "patroni");
        add_file(c, p->dir.path, file);
    }
}

// --- processes ------------------------------------------------------------------------

static int find_part_net(const struct patroni *p, enum patroni_part part)
{
    return part < PATRONI_MEMBERS ? p->lan.members[part] : p->lan.middle;
}

// Opens the log of a program. All members write to one log, in which the harness looks for
// sessions.
static int open_part_log(const struct patroni *p, enum patroni_part part, struct err *e)
{
    char path[PATH_MAX];

    if (part < PATRONI_MEMBERS)
        snprintf(path, sizeof path, "%s", p->log);
    else if (!path_join(path, p->dir.path, part == PART_STORE ? "etcd.log" : "haproxy.log", e))
        return -1;
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd < 0)
        err_sys(e, ERR_SYSTEM, "cannot write %s", path);
    return fd;
}

bool parts_start(struct patroni *p, enum patroni_part part, struct err *e)
{
    struct process_spec spec = PROCESS_SPEC_INIT;
    struct command_line c = {0};
    int log = open_part_log(p, part, e);

    if (log < 0)
        return false;
    make_command_line(&c, p, part);
    spec.argv = (const char *const *)c.words;
    spec.dir = p->dir.server;
    spec.uid = p->user.uid;
    spec.gid = p->user.gid;
    spec.net = find_part_net(p, part);
    spec.out = log;
    spec.err = log;
    // TERM, at which the leash ends all processes on it; a KILL would end only the leash.
    spec.death_signal = p->detached ? 0 : SIGTERM;
    pid_t pid = process_start(&spec, e);
    close(log);
    memory_free_texts(c.words);
    p->leashes[part] = pid > 0 ? pid : 0;
    return pid > 0;
}

void parts_kill(struct patroni *p, enum patroni_part part)
{
    char data[PATH_MAX], name[8];
    struct err ignored;

    // At TERM the leash kills all processes on it. Then what a killed postmaster leaves, such as
    // its shared memory, is cleared.
    if (p->leashes[part])
        process_end(p->leashes[part], SIGTERM, kill_limit_ns);
    p->leashes[part] = 0;
    if (part < PATRONI_MEMBERS &&
        path_join(data, p->dir.server, patroni_member((int)part, name), &ignored))
        postmasters_clear(data);
}

bool parts_wait_store(struct patroni *p, struct err *e)
{
    const struct rest_target store = {
        .net = p->lan.middle, .host = p->at.store.host, .port = p->at.store.port};
    int64_t deadline_ns = clock_now_ns() + store_limit_ns;
    static struct rest_answer answer; // 64 KiB, kept off the stack

    while (!rest_ask(&store, "GET", "/health", NULL, &answer, e) || answer.status != 200) {
        // A program that has ended will never answer, so there is no need to wait for the limit.
        if (process_wait(p->leashes[PART_STORE], 0, NULL)) {
            p->leashes[PART_STORE] = 0;
            return err_set(e, ERR_SYSTEM, "etcd ended; see etcd.log in %s", p->dir.path);
        }
        if (clock_now_ns() > deadline_ns)
            return err_set(e, ERR_SYSTEM, "etcd did not answer within 30 s");
        if (!interrupt_sleep(poll_ns, e))
            return false;
    }
    return true;
}

// Sets a password for the store, because what the store holds becomes settings of the servers, such
// as a library to load. Until then any user of this machine can take the store over. If somebody
// did, a step fails here.
bool parts_set_store_password(const struct patroni *p, struct err *e)
{
    const struct rest_target store = {
        .net = p->lan.middle, .host = p->at.store.host, .port = p->at.store.port};
    static struct rest_answer answer; // 64 KiB, kept off the stack
    char user[100 + PATRONI_PASSWORD_MAX];

    snprintf(user, sizeof user, "{\"name\": \"" PATRONI_STORE_USER "\", \"password\": \"%s\"}",
        p->at.store_password);
    const char *const steps[][2] = {{"/v3/auth/user/add", user},
        {"/v3/auth/role/add", "{\"name\": \"root\"}"},
        {"/v3/auth/user/grant", "{\"user\": \"" PATRONI_STORE_USER "\", \"role\": \"root\"}"},
        {"/v3/auth/enable", "{}"}};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        if (!rest_ask(&store, "POST", steps[i][0], steps[i][1], &answer, e))
            return false;
        if (answer.status != 200)
            return err_set(e, ERR_SYSTEM, "etcd refuses %s: %.200s", steps[i][0], answer.text);
    }
    return true;
}
