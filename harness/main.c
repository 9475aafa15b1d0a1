// mailproof: proves that a PostgreSQL-backed mail collector loses nothing. The table of
// subcommands, and the entry point.
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>

#include "cli/cli.h"
#include "os/interrupt.h"
#include "os/child_env.h"
#include "scenario/suggest.h"

#define SCENARIO_IS "SCENARIO is a name that 'mailproof list' shows, a file, or a result folder"
#define RESULT_IS "RESULT is a folder that a run left, such as results/steady/latest"

static const struct command commands[] = {
    {"run", "run SCENARIO...", SCOPE_RUN, cli_run, "run scenarios and give a verdict",
        SCENARIO_IS ", whose run is then repeated. A folder stands for all scenarios in it."},
    {"plan", "plan SCENARIO", SCOPE_PLAN, cli_plan, "print the seeded timeline, run nothing",
        SCENARIO_IS "."},
    {"compare", "compare BASE NEW, or compare --ab 'CMD_A' 'CMD_B' SCENARIO", SCOPE_COMPARE,
        cli_compare,
        "compare two results, or two collectors alternately: better, worse or no difference",
        "BASE and NEW are folders that runs left, or folders of these. " SCENARIO_IS "."},
    {"check", "check RESULT|STORY...", SCOPE_CHECK, cli_check,
        "judge stored runs and stories again, without a server",
        RESULT_IS ". STORY is a file that ends with .story."},
    {"story", "story RESULT --token ID", SCOPE_STORY, cli_story,
        "write what broke an invariant as a text that can be sent, judged and kept as a test",
        RESULT_IS "."},
    {"report", "report RESULT...", SCOPE_REPORT, cli_report,
        "render the reports of stored runs again; for a folder of them, also its index page",
        RESULT_IS ", or a folder of these."},
    {"tune", "tune SCENARIO", SCOPE_TUNE, cli_tune,
        "try batch limits and timeouts, show the trade-off, recommend", SCENARIO_IS "."},
    {"shrink", "shrink RESULT", SCOPE_SHRINK, cli_shrink,
        "look for a shorter scenario that still breaks what a stored run broke", RESULT_IS "."},
    {"explore", "explore [SCENARIO]...", SCOPE_EXPLORE, cli_explore,
        "draw scenarios, run them, and examine the failures",
        "With a SCENARIO it draws only the faults, and keeps the rest. " SCENARIO_IS "."},
    {"merge", "merge DIR...", SCOPE_MERGE, cli_merge,
        "put the results of shards together, as if one machine had done all of the work",
        "DIR is a folder in which commands with --shard left their results; folders below it are "
        "searched, too. What a scenario's name means is looked up here, as for the command "
        "itself."},
    {"slopes", "slopes RESULT...", SCOPE_SLOPES, cli_slopes,
        "show what grew during a long run, how fast, and how certain that is", RESULT_IS "."},
    {"doctor", "doctor CONNINFO", SCOPE_DOCTOR, cli_doctor,
        "check a server or a pooler for what would break a collector or a run",
        "CONNINFO is a connection string of libpq, such as 'host=db.example dbname=mail user=me'."},
    {"proxy", "proxy --listen ADDR --to CONNINFO [FAULT]...", SCOPE_PROXY, cli_proxy,
        "stand between any client and its server, and break their connection",
        "FAULT is an order such as 'delay 20ms' or 'partition for 10s'. Further orders are read "
        "from standard input, a line each; 'help' lists all, 'quit' ends the proxy."},
    {"field", "field [SUBJECT]...", SCOPE_FIELD, cli_field,
        "run the same plans and faults against several queues, print one table",
        "SUBJECT is a queue that 'mailproof list' shows (default: all of them)."},
    {"load", "load -", SCOPE_LOAD, cli_load,
        "be a worker that a run has started: send a part of its plan", NULL},
    {"list", "list", SCOPE_LIST, cli_list, "show scenarios and their keys, fault verbs and metrics",
        NULL},
};

#define COMMANDS (sizeof commands / sizeof *commands)

int cli_fail(const struct err *e)
{
    fprintf(stderr, "mailproof: %s\n", e->text);
    if (interrupt_signal())
        return EXIT_SIGNAL + interrupt_signal();
    return e->kind == ERR_USAGE ? EXIT_USAGE : e->kind == ERR_SKIP ? EXIT_SKIPPED : EXIT_INTERNAL;
}

int cli_worse(int a, int b)
{
    // The worst first. print_help says what the numbers mean.
    static const int order[] = {EXIT_INTERNAL, 1, EXIT_USAGE, 2, 3, 4, EXIT_OK, EXIT_SKIPPED};

    if (a > EXIT_SIGNAL || b > EXIT_SIGNAL)
        return a > b ? a : b;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        if (a == order[i] || b == order[i])
            return order[i];
    }
    return EXIT_INTERNAL; // a code that the table lacks
}

static void print_help(FILE *out)
{
    fputs("Usage: mailproof COMMAND [OPTION]... [SCENARIO]...\n"
          "Proves, by running it, that a PostgreSQL-backed mail collector loses nothing.\n\n"
          "Commands:\n",
        out);
    for (size_t i = 0; i < COMMANDS; i++)
        fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].help);
    fputs("\n'mailproof COMMAND --help' shows its options, 'mailproof --man' prints the manual\n"
          "page, 'mailproof --completion bash' (zsh, fish) a completion.\n\n"
          "Exit codes: 0 all expectations hold, 1 an invariant is broken, 2 inconclusive,\n"
          "3 an objective was missed, 4 regression, 64 usage, 70 internal error, 77 skipped.\n",
        out);
}

static const struct command *find_subcommand(const char *name)
{
    for (size_t i = 0; i < COMMANDS; i++) {
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    }
    return NULL;
}

// Appends to the error which subcommands take the option, such as "; compare, tune and field have
// it".
static void name_owners(const char *option, struct err *e)
{
    const unsigned scope = options_scope(option);
    size_t owners = 0, named = 0;

    for (size_t i = 0; i < COMMANDS; i++)
        owners += (commands[i].scope & scope) != 0;
    for (size_t i = 0; i < COMMANDS; i++) {
        size_t len = strlen(e->text);
        if (!(commands[i].scope & scope))
            continue;
        const char *before = named == 0 ? "; " : named + 1 < owners ? ", " : " and ";
        snprintf(e->text + len, sizeof e->text - len, "%s%s%s", before, commands[i].name,
            ++named < owners ? ""
            : owners == 1    ? " has it"
                             : " have it");
    }
}

// Runs a subcommand, whose name is argv[0], or prints its help. Returns the exit code.
static int run_subcommand(const struct command *c, int argc, char **argv)
{
    struct options o FREED_BY(options_fini) = {0};
    struct err e = {0};
    int code;

    if (!options_parse(&o, c->scope, argc, argv, &e)) {
        if (o.foreign) // the refused option, when only other subcommands take it
            name_owners(o.foreign, &e);
        code = cli_fail(&e);
    } else if (o.help) {
        printf("Usage: mailproof %s\n%s\n", c->usage, c->help);
        if (c->explanation)
            printf("\n%s\n", c->explanation);
        options_print_help(c->scope);
        code = EXIT_OK;
    } else {
        // libpq's environment variables may lead to a server only if the user has named one, so all
        // other commands forget them. doctor and proxy always get a conninfo.
        if (!o.conninfo && !(c->scope & (SCOPE_DOCTOR | SCOPE_PROXY)))
            child_env_remove_libpq();
        code = c->run(&o);
    }
    return code;
}

static int refuse_command(const char *name)
{
    static const char *const options[] = {"--help", "--version", "--man", "--completion"};
    struct suggestion near;

    // Without a command there is nothing to correct. The help goes to stderr and the exit code is
    // an error's, so that scripts notice.
    if (!*name) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    suggest_init(&near, name);
    for (size_t i = 0; i < COMMANDS; i++)
        suggest_offer(&near, commands[i].name);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        suggest_offer(&near, options[i]);
    fprintf(stderr, "mailproof: unknown %s '%s'%s\nSee 'mailproof --help'.\n",
        *name == '-' ? "option" : "command", name, near.text);
    return EXIT_USAGE;
}

static int print_completion(const char *shell)
{
    if (completion_print(shell, commands, COMMANDS))
        return EXIT_OK;
    fprintf(stderr, "mailproof: --completion takes bash, zsh or fish, not '%.40s'\n", shell);
    return EXIT_USAGE;
}

// Returns `code`, or reports that the output could not be written. A reader that goes away,
// as `head` does, has read enough, so that is no error.
static int finish_output(int code)
{
    bool written = !ferror(stdout) && fflush(stdout) == 0;
    struct pollfd out = {.fd = STDOUT_FILENO};

    if (written || (poll(&out, 1, 0) > 0 && (out.revents & (POLLERR | POLLHUP))))
        return code;
    fputs("mailproof: standard output could not be written\n", stderr);
    return EXIT_INTERNAL;
}

static int run_command_line(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    const struct command *c = find_subcommand(name);

    if (c)
        return run_subcommand(c, argc - 1, argv + 1);
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        print_help(stdout);
        return EXIT_OK;
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        puts("mailproof " MAILPROOF_VERSION);
        return EXIT_OK;
    }
    if (strcmp(name, "--man") == 0) {
        manual_print(commands, COMMANDS);
        return EXIT_OK;
    }
    if (strcmp(name, "--completion") == 0)
        return print_completion(argc == 3 ? argv[2] : "");
    return refuse_command(name);
}

// Opens /dev/null for each standard stream that is closed. Otherwise the next file or socket would
// get its number, and our output would go into that file. /dev/null is opened for reading only, so
// that output to it fails and is reported. False when it cannot be opened.
static bool hold_standard_streams(void)
{
    int fd;

    do {
        fd = open("/dev/null", O_RDONLY);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    return fd >= 0 && close(fd) == 0;
}

int main(int argc, char **argv)
{
    if (!hold_standard_streams())
        return EXIT_INTERNAL;
    // memory_allocate ends the program when memory is short, so json_object() never returns NULL.
    json_set_alloc_funcs(memory_allocate, free);
    interrupt_install();
    return finish_output(run_command_line(argc, argv));
}
