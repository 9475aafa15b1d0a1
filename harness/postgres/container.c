// The container provider: a server in a container, run by the command line of podman or docker. Any
// image that follows the official image's contract will do.
//
// The data lies in a named volume, because a container's own file system may be mounted so that it
// never flushes. The port is published on 127.0.0.1 only.
#include "postgres/provider.h"

#include "os/interrupt.h"
#include "os/paths.h"
#include "os/process.h"
#include "os/workdir.h"
#include "postgres/engine.h"
#include "postgres/target.h"

#define DATA "/var/lib/postgresql/data"

static const int64_t start_limit_ns = 60 * NS_PER_S;
static const int64_t poll_ns = 50 * NS_PER_MS; // pause between two tries, each of which is a whole
                                               // handshake

struct container {
    const char *engine; // podman or docker
    const struct scenario_postgres *want;
    char image[400]; // want->image, in the form that the engine knows
    char label[ENGINE_LABEL_MAX];
    char name[ENGINE_NAME_MAX]; // name of the container and of its volume
    char data[512];             // path of the volume's folder, as the engine tells it
    struct workdir dir;
    char log[PATH_MAX]; // path of our copy of the log that the engine keeps; "": no copy could be
                        // made
    int port;
    struct target target;
    bool created;
    bool kept;
};

static void container_close(struct server *s);

// Chooses engine, port and password, and removes what killed runs left. The first start makes the
// container.
static bool container_open(struct server *s, const struct scenario_postgres *want, struct err *e)
{
    struct container *c = memory_zeroed(1, sizeof *c);
    char conninfo[256], password[TARGET_PASSWORD_LEN + 1];

    s->state = c;
    c->dir = (struct workdir)WORKDIR_INIT;
    c->want = want;
    c->engine = engine_find(e);
    // The port must stay the same over restarts, and a port that the engine chooses would change.
    bool ok = c->engine && engine_label(c->label, e) && target_free_ports(&c->port, 1, e) &&
              target_random(password, TARGET_PASSWORD_LEN, e) &&
              workdir_make(&c->dir, geteuid(), e) &&
              path_join(c->log, c->dir.path, "server.log", e);
    if (ok) {
        snprintf(conninfo, sizeof conninfo,
            "host=127.0.0.1 port=%d user=postgres password=%s dbname=postgres sslmode=disable",
            c->port, password);
        ok = target_init(&c->target, conninfo, e);
    }
    // After a failure the half-made state is closed here, because the caller closes only a server
    // that was opened.
    if (!ok) {
        container_close(s);
        return false;
    }
    engine_sweep(c->engine, c->label);
    engine_name(c->name, c->target.unique);
    s->superuser = c->target.user;
    s->password = c->target.password;
    s->database = "mailroom";
    return true;
}

static bool container_conninfo(
    const struct server *s, const char *user, const char *dbname, struct buf *out)
{
    const struct container *c = s->state;

    return target_conninfo(&c->target, user, dbname, out);
}

static bool container_address(
    const struct server *s, struct sockaddr_storage *out, socklen_t *len, struct err *e)
{
    const struct container *c = s->state;

    return target_address(&c->target, out, len, e);
}

// Finds an image that is here or can be pulled. Tries the official image also by its full name,
// because podman refuses a short name when it has no list of registries.
static bool find_image(struct container *c, struct err *e)
{
    static const char *const prefixes[] = {"", "docker.io/library/"};
    const size_t tries = strchr(c->want->image, '/') ? 1 : sizeof prefixes / sizeof *prefixes;
    char text[1024];

    for (int pull = 0; pull < 2; pull++) {
        for (size_t i = 0; i < tries; i++) {
            snprintf(c->image, sizeof c->image, "%s%s", prefixes[i], c->want->image);
            if (pull ? ENGINE(c->engine, text, e, "pull", "-q", c->image)
                     : ENGINE(c->engine, text, e, "image", "inspect", "-f", "{{.Id}}", c->image))
                return true;
        }
    }
    // A missing image is a reason to skip, as a missing engine is.
    e->kind = ERR_SKIP;
    return err_prefix(e,
        "the image %s is not here and cannot be pulled (without a registry, 'ci/postgres-image' "
        "makes one of the PostgreSQL installed here; name it with --set postgres.image=…)",
        c->want->image);
}

// Creates the volume and the container, and starts it. At the first start the image makes the
// cluster in the volume.
static bool create_container(struct container *c, struct err *e)
{
    char volume[ENGINE_NAME_MAX + 40], port[48], password[64], text[1024];
    char settings[PROVIDER_TEXTS_MAX][SERVER_SETTING_SIZE];
    const char *argv[24 + 2 * PROVIDER_TEXTS_MAX];

    if (!find_image(c, e))
        return false;
    snprintf(volume, sizeof volume, "%s:" DATA, c->name);
    snprintf(port, sizeof port, "127.0.0.1:%d:5432", c->port);
    // container_open has put this password into the conninfo.
    snprintf(
        password, sizeof password, "POSTGRES_PASSWORD=%s", target_value(&c->target, "password"));
    const char *const head[] = {c->engine, "run", "-d", "--name", c->name, "--label", c->label,
        // Both docker and podman know this log driver, and their `logs` command can read it.
        "--log-driver", "json-file", "-v", volume, "-p", port, "-e", "POSTGRES_PASSWORD", "-e",
        "PGDATA=" DATA, c->image, "postgres"};
    memcpy(argv, head, sizeof head);
    provider_add_settings(&c->want->settings, settings, argv, sizeof head / sizeof *head);
    c->created = true; // set first, because a failed creation may leave a volume or a container
    // The volume is made before the container, so that it has the label from the first moment.
    return (ENGINE(c->engine, text, e, "volume", "create", "--label", c->label, c->name) &&
               engine_run_with_variable(password, argv, text, sizeof text, e)) ||
           err_prefix(e, "the image %s cannot be run", c->image);
}

// Runs a program inside the container; argv ends with NULL.
static bool container_exec(
    const struct server *s, const char *const *argv, char *text, size_t size, struct err *e)
{
    const struct container *c = s->state;
    // One more than engine_call takes, so that it refuses a command that is too long.
    const char *arguments[ENGINE_ARGUMENTS_MAX + 2] = {"exec", c->name};

    for (size_t i = 0; argv[i] && i + 2 <= ENGINE_ARGUMENTS_MAX; i++)
        arguments[i + 2] = argv[i];
    return engine_call(c->engine, text, size, e, arguments);
}

// Copies the log that the engine keeps to c->log, and sets s->log_path to the copy, or NULL.
static void container_fetch_log(struct server *s)
{
    struct container *c = s->state;

    // After a failure, copies no more: a run that began with the failed copy does not know where
    // its own lines begin, and would count those of earlier runs.
    if (*c->log && !engine_log(c->engine, c->name, c->log))
        *c->log = '\0';
    s->log_path = *c->log ? c->log : NULL;
}

// Waits at most 60 s until the server answers. Fails at once when the container has ended.
static bool wait_container_ready(struct server *s, struct err *e)
{
    const struct container *c = s->state;
    int64_t deadline = clock_now_ns() + start_limit_ns;
    char tail[600];

    while (!provider_handshake(s, e)) {
        char state[256];
        struct err ignored;
        // The log of a server that has ended tells why it ended; a handshake would only fail again.
        if (ENGINE(c->engine, state, &ignored, "inspect", "-f", "{{.State.Running}}", c->name) &&
            strcmp(state, "false") == 0) {
            provider_fetch_log(s);
            provider_log_tail(s, tail, sizeof tail);
            return err_set(e, ERR_SYSTEM, "the server in container %s ended while starting: …%s",
                c->name, tail);
        }
        if (clock_now_ns() > deadline)
            return err_prefix(e, "the server was not ready after 60 s");
        if (!interrupt_sleep(poll_ns, e))
            return false;
    }
    return true;
}

// Sets data_dir to the volume's folder if that is on this machine and we may write there.
static void find_volume_folder(struct server *s)
{
    struct container *c = s->state;
    struct err ignored;

    if (ENGINE(
            c->engine, c->data, &ignored, "volume", "inspect", "-f", "{{.Mountpoint}}", c->name) &&
        access(c->data, W_OK) == 0)
        s->data_dir = c->data;
}

// Finds the pid that the container's first process has on this machine, so that the CPU time of the
// backends can be measured. outer_pid is 0 when the engine's pid is not that of such a process
// here, as when the engine runs in a virtual machine.
static void find_container_pid(struct server *s)
{
    const struct container *c = s->state;
    char text[64];
    struct err ignored;

    if (!ENGINE(c->engine, text, &ignored, "inspect", "-f", "{{.State.Pid}}", c->name))
        return;
    pid_t pid = (pid_t)atoi(text);
    s->outer_pid = pid > 0 && process_inner_pid(pid) == 1 ? pid : 0;
}

// Creates the container at the first call, starts it again at a later one, and returns when the
// server answers.
static bool container_start(struct server *s, struct err *e)
{
    struct container *c = s->state;
    char text[512];

    if (s->running)
        return true;
    if (!(c->created ? ENGINE(c->engine, text, e, "start", c->name) : create_container(c, e)))
        return false;
    // To make the cluster, the image first starts a server without TCP. So only a handshake over
    // TCP shows that the real server is ready.
    s->running = wait_container_ready(s, e);
    if (s->running) {
        find_volume_folder(s);
        find_container_pid(s);
    }
    return s->running;
}

// Stops the server by a signal, and waits for the container's end. The engine's own `stop` may shut
// the server down cleanly whatever time limit it is given.
static bool container_stop(struct server *s, enum server_stop how, struct err *e)
{
    static const char *const signals[] = {
        [SERVER_STOP_FAST] = "INT", [SERVER_STOP_IMMEDIATE] = "QUIT", [SERVER_STOP_KILL] = "KILL"};
    struct container *c = s->state;
    char text[512];

    if (how == SERVER_STOP_POWER)
        return err_set(e, ERR_SKIP, "the power of a container's disk cannot be cut");
    s->running = false;
    s->outer_pid = 0;
    return ENGINE(c->engine, text, e, "kill", "-s", signals[how], c->name) &&
           ENGINE(c->engine, text, e, "wait", c->name);
}

// Freezes all processes of the container, or lets them go on (paused: false). After freezing, asks
// the engine whether they are frozen.
static bool container_pause(struct server *s, bool paused, struct err *e)
{
    const struct container *c = s->state;
    char text[512];

    s->paused = paused;
    if (!ENGINE(c->engine, text, e, paused ? "pause" : "unpause", c->name))
        return false;
    if (!paused)
        return true;
    return ENGINE(c->engine, text, e, "inspect", "-f", "{{.State.Status}}", c->name) &&
           (strcmp(text, "paused") == 0 ||
               err_set(e, ERR_SYSTEM, "the container is %s, not paused", text));
}

// Leaves the container running, and appends to `out` how to reach and how to remove it.
static bool container_keep(struct server *s, struct buf *out, struct err *e)
{
    struct container *c = s->state;
    char kept[ENGINE_NAME_MAX], text[512];

    // The new name has no pid, so engine_sweep leaves the container alone; and it leaves the
    // volume, because that is in use.
    snprintf(kept, sizeof kept, "mailproof-kept-%s", c->target.unique);
    if (!ENGINE(c->engine, text, e, "rename", c->name, kept))
        return false;
    c->kept = true;
    return buf_printf(out,
        "The server is still running.\n"
        "  reach it:  %s exec -it %s psql -U postgres mailroom\n"
        "  remove it: %s rm -f -v %s && %s volume rm %s\n",
        c->engine, kept, c->engine, kept, c->engine, c->name);
}

// Removes the folder and, unless container_keep has left it running, the container. Accepts a
// server that is half opened.
static void container_close(struct server *s)
{
    struct container *c = s->state;

    if (!c)
        return;
    if (c->created && !c->kept)
        engine_remove(c->engine, c->name);
    workdir_remove(&c->dir);
    target_fini(&c->target);
    free(c);
    *s = (struct server){.provider = s->provider};
}

const struct provider provider_container = {
    .name = "container",
    .open = container_open,
    .start = container_start,
    .stop = container_stop,
    .pause = container_pause,
    .conninfo = container_conninfo,
    .address = container_address,
    .exec = container_exec,
    .fetch_log = container_fetch_log,
    .keep = container_keep,
    .close = container_close,
};
