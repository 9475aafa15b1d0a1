// Prints the manual page in roff's macros of man(7): .SH and .SS begin a section and a subsection,
// .TP an entry whose first line is its term; .B is bold, .I (and \fI) italic, .PP a new paragraph.
#include "cli/cli.h"

#include "scenario/scenario.h"

// Prints a text for roff: its minus signs can be copied, no line starts a request of roff, and a
// terminal without Unicode shows all of it.
static void print_roff(const char *text)
{
    static const char ellipsis[] = "…";

    if (*text == '.' || *text == '\'')
        fputs("\\&", stdout);
    for (; *text; text++) {
        if (strncmp(text, ellipsis, strlen(ellipsis)) == 0) {
            fputs("...", stdout);
            text += strlen(ellipsis) - 1;
        } else if (*text == '\\')
            fputs("\\e", stdout);
        else if (*text == '-')
            fputs("\\-", stdout);
        else
            putchar(*text);
    }
}

static void print_option(const struct option_text *o, void *unused)
{
    (void)unused;
    fputs(".TP\n.B \\-\\-", stdout);
    print_roff(o->name);
    if (o->argument)
        printf(" \\fI%s\\fR", o->argument);
    putchar('\n');
    print_roff(o->help);
    putchar('\n');
}

// Prints an entry of a list, such as a key and what it means.
static void print_entry(const char *term, const char *text)
{
    fputs(".TP\n.B ", stdout);
    print_roff(term);
    putchar('\n');
    print_roff(text);
    putchar('\n');
}

static void print_exit_codes(void)
{
    static const struct {
        const char *code, *meaning;
    } codes[] = {
        {"0", "all expectations hold; no difference, or better"},
        {"1", "an invariant is broken; doctor: something would break a collector or a run"},
        {"2", "inconclusive; too few runs to compare"},
        {"3", "an objective on speed or time was missed"},
        {"4", "regression"},
        {"64", "usage"},
        {"70", "internal error"},
        {"77", "skipped: what the scenario needs is not here"},
        {"128+n", "ended by signal n"},
    };

    puts(".SH EXIT STATUS");
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        print_entry(codes[i].code, codes[i].meaning);
}

static void print_environment(void)
{
    static const struct {
        const char *name, *meaning;
    } variables[] = {
        {"PG_BINDIR", "The folder of the PostgreSQL programs that provider local uses. Default: "
                      "the newest of "
                      "/usr/lib/postgresql/*/bin, or else what PATH finds."},
        {"MAILPROOF_TMPDIR", "Where servers keep their data, on a real disk. Default: /var/tmp."},
        {"MAILPROOF_CONTAINER_ENGINE",
            "The engine of provider container. Default: podman, or docker where podman does not "
            "answer."},
        {"MAILPROOF_REST_AUTH", "USER:PASSWORD for the REST interfaces that postgres.rest names."},
        {"MAILPROOF_PASS_ENV", "Names of variables that the subject gets, with commas between; "
                               "--pass-env adds one."},
        {"MAILPROOF_AS", "The user that the subject runs as; --as sets it."},
        {"XDG_CACHE_HOME", "Copies of fresh servers, and the queues that field --finding installs, "
                           "are kept in its folder mailproof. Default: ~/.cache."},
        {"XDG_STATE_HOME", "The key that marks your own results is kept in its folder mailproof. "
                           "Default: ~/.local/state."},
        {"NO_COLOR", "No colours on a terminal, unless it is empty."},
    };

    puts(".SH ENVIRONMENT");
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        print_entry(variables[i].name, variables[i].meaning);
}

static void print_files(void)
{
    puts(".SH FILES\n"
         ".TP\n.I PREFIX/share/mailproof/own/WRITE\\-YOUR\\-OWN.md\n"
         "What a collector of yours reads and writes: line format, signature with a test vector, "
         "settings, exit codes, schema; two complete collectors lie beside it.");
}

void manual_print(const struct command *commands, size_t count)
{
    puts(".TH MAILPROOF 1 \"\" \"mailproof " MAILPROOF_VERSION "\" \"User Commands\"\n"
         ".SH NAME\n"
         "mailproof \\- proves that a PostgreSQL\\-backed mail collector loses nothing\n"
         ".SH SYNOPSIS\n.B mailproof\n.I COMMAND\n.RI [ OPTION ]... \" \" [ SCENARIO ]...\n"
         ".SH DESCRIPTION\n"
         "Runs scenarios against a collector as a black box: inserts accounts into a real, durable "
         "PostgreSQL, breaks things, and gives a verdict with latency percentiles and an exit "
         "code.\n"
         ".SH COMMANDS");
    // The page is made from the tables of --help, so both always say the same.
    for (size_t i = 0; i < count; i++) {
        fputs(".SS ", stdout);
        print_roff(commands[i].usage);
        putchar('\n');
        print_roff(commands[i].help);
        putchar('\n');
        if (commands[i].explanation) {
            puts(".PP");
            print_roff(commands[i].explanation);
            putchar('\n');
        }
        options_each(commands[i].scope, print_option, NULL);
    }
    puts(".SH SCENARIO FILE\n"
         "YAML, named as the scenario is. N stands for an item of a list, counted from 0 in "
         "\\-\\-set.");
    keys_each(print_entry);
    print_environment();
    print_exit_codes();
    print_files();
}
