// Runs a target over its seeds and the findings that were kept, then over a fixed number of damaged
// copies of these. ctest does this, without libFuzzer.
//
//   fuzz_x [--mutations N] [--write FOLDER] FILE|FOLDER…
//
// An input that ends the program is left in the working folder under the name that is printed.
// --write only stores the seeds that the target makes itself.
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include "fuzz/fuzz.h"

#define INPUTS_MAX 1000
#define SECONDS_PER_INPUT 60 // an input that takes longer counts as a hang

struct input {
    uint8_t *data;
    size_t len;
    char name[256];
};

static struct input inputs[INPUTS_MAX];
static size_t input_count;

// State that the signal handler reads.
static struct {
    char file[300];
    const uint8_t *data;
    size_t len;
} running;

static void give_up(const char *what, const char *name)
{
    fprintf(stderr, "%s: %s: %s\n", what, name, strerror(errno));
    exit(EXIT_FAILURE);
}

// --- keeping the input that ends the program --------------------------------------------

// Handles a fatal signal: stores the input that runs, and lets the signal end the program. Calls
// only what a signal handler may call.
static void keep_input(int number)
{
    static const char text[] = "\nthe input is kept in ";
    int fd = open(running.file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    ssize_t ignored = write(fd, running.data, running.len);

    ignored += write(STDERR_FILENO, text, sizeof text - 1);
    ignored += write(STDERR_FILENO, running.file, strlen(running.file));
    ignored += write(STDERR_FILENO, "\n", 1);
    (void)ignored;
    signal(number, SIG_DFL);
    raise(number);
}

// Gives the input to the target. SIGALRM ends the program when that takes too long.
static void run(const struct input *in)
{
    // A block of exactly this size, so that AddressSanitizer sees its end.
    uint8_t *exact = malloc(in->len ? in->len : 1);

    if (!exact)
        give_up("no memory", in->name);
    memcpy(exact, in->data, in->len);
    running.data = exact;
    running.len = in->len;
    alarm(SECONDS_PER_INPUT);
    LLVMFuzzerTestOneInput(exact, in->len);
    alarm(0);
    free(exact);
}

static bool is_good(const struct input *in)
{
    const char *slash = strrchr(in->name, '/');

    return strncmp(slash ? slash + 1 : in->name, "good", 4) == 0;
}

// Runs a seed, which the target must accept if its name says that it is good.
static void run_seed(const struct input *in)
{
    fuzz_accepted(); // forgets the acceptance of an earlier input
    run(in);
    if (!fuzz_accepted() && is_good(in)) {
        fprintf(stderr, "%s: this seed should be accepted\n", in->name);
        exit(EXIT_FAILURE);
    }
}

// --- inputs ------------------------------------------------------------------------------

static struct input *new_input(const char *name)
{
    if (input_count == INPUTS_MAX) {
        errno = E2BIG;
        give_up("too many inputs", name);
    }
    struct input *in = &inputs[input_count++];
    in->data = malloc(FUZZ_SEED_MAX);
    if (!in->data)
        give_up("no memory", name);
    snprintf(in->name, sizeof in->name, "%s", name);
    return in;
}

static void add_file(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct input *in = new_input(path);
    ssize_t got;

    while (fd >= 0 && (got = read(fd, in->data + in->len, FUZZ_SEED_MAX - in->len)) > 0)
        in->len += (size_t)got;
    if (fd < 0 || got < 0 || close(fd) != 0)
        give_up("cannot read", path);
}

static void add_path(const char *path)
{
    struct dirent **entries;
    struct stat st;

    if (stat(path, &st) != 0)
        give_up("cannot read", path);
    if (!S_ISDIR(st.st_mode)) {
        add_file(path);
        return;
    }
    int count = scandir(path, &entries, NULL, alphasort);
    if (count < 0)
        give_up("cannot read", path);
    for (int i = 0; i < count; i++) {
        char name[PATH_MAX];
        snprintf(name, sizeof name, "%s/%s", path, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.')
            add_path(name);
        free(entries[i]);
    }
    free(entries);
}

// Adds the seeds that the target makes; the names of those that it must accept begin with "good".
static void add_made_seeds(void)
{
    static uint8_t bytes[FUZZ_SEED_MAX];
    char name[32];
    bool good;
    size_t len;

    for (size_t i = 0; (len = fuzz_seed(i, bytes, sizeof bytes, &good)) > 0; i++) {
        snprintf(name, sizeof name, "%s-%02zu", good ? "good" : "made", i);
        struct input *in = new_input(name);
        memcpy(in->data, bytes, len);
        in->len = len;
    }
}

static void write_all(const char *folder)
{
    for (size_t i = 0; i < input_count; i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/%s", folder, inputs[i].name);
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        if (fd < 0 || write(fd, inputs[i].data, inputs[i].len) != (ssize_t)inputs[i].len ||
            close(fd) != 0)
            give_up("cannot write", path);
    }
}

static void run_damaged(long count)
{
    static uint8_t bytes[FUZZ_SEED_MAX];
    struct rng rng;

    rng_init(&rng, 1, 0);
    for (long i = 0; i < count; i++) {
        const struct input *in = &inputs[rng_below(&rng, input_count)];
        const struct input *other = &inputs[rng_below(&rng, input_count)];
        struct input damaged = {.data = bytes};
        memcpy(bytes, in->data, in->len);
        damaged.len = mutate(&rng, bytes, in->len, sizeof bytes, other->data, other->len);
        run(&damaged);
    }
}

static void watch_signals(const char *program)
{
    static const int fatal[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM};
    const char *slash = strrchr(program, '/');

    snprintf(running.file, sizeof running.file, "%.200s.crash", slash ? slash + 1 : program);
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
        signal(fatal[i], keep_input);
}

int main(int argc, char **argv)
{
    const char *folder = NULL;
    long mutations = 0;
    int at = 1;

    for (; at + 1 < argc && strncmp(argv[at], "--", 2) == 0; at += 2) {
        if (strcmp(argv[at], "--mutations") == 0)
            mutations = strtol(argv[at + 1], NULL, 10);
        else if (strcmp(argv[at], "--write") == 0)
            folder = argv[at + 1];
        else
            break;
    }
    add_made_seeds();
    if (folder)
        write_all(folder);
    for (int i = at; i < argc; i++)
        add_path(argv[i]);
    if (input_count == 0) {
        fprintf(stderr, "usage: %s [--mutations N] [--write FOLDER] FILE|FOLDER…\n", argv[0]);
        return EXIT_FAILURE;
    }
    watch_signals(argv[0]);
    for (size_t i = 0; i < input_count; i++)
        run_seed(&inputs[i]);
    run_damaged(mutations);
    printf("%zu inputs and %ld damaged ones\n", input_count, mutations);
    for (size_t i = 0; i < input_count; i++)
        free(inputs[i].data);
    return EXIT_SUCCESS;
}
