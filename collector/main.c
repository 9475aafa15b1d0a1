// mailroom-collector: dequeues new tokens from PostgreSQL, signs them, and
// writes them in batches, one line each, to standard output or to a sender that it starts.
#include <getopt.h>
#include <sysexits.h>

#include "base/log.h"
#include "base/program.h"
#include "loop/collector.h"
#include "process/launch.h"
#include "process/sandbox.h"
#include "queue/switch.h"
#include "settings/config.h"

static void help(FILE *out)
{
    fputs(
        "mailroom-collector: writes new tokens, signed, in batches to standard output.\n\n"
        "  mailroom-collector                        collects until TERM or INT\n"
        "  mailroom-collector -- COMMAND ARGUMENT…   in leased mode: runs the sender, too\n"
        "  mailroom-collector --switch-mode          changes the mode of the queue\n"
        "  mailroom-collector --settings             prints the settings as a table\n"
        "  mailroom-collector --help (-h), --version (-V)\n\n"
        "The sender is started again when it ends; exit code 78 ends the collector, too.\n"
        "--switch-mode carries the queue over to the mode that MAILROOM_DEQUEUE names. Exit code\n"
        "75 means that the database is away or refuses, for example because collectors still run.\n"
        "These environment variables are the settings:\n\n",
        out);
    config_help(out);
    fputs("\nExit codes: 0 stopped by TERM or INT, everything written was confirmed\n"
          "  64 unknown argument\n"
          "  70 internal error\n"
          "  74 standard output failed\n"
          "  75 stopped before the last line could be confirmed\n"
          "  78 settings or schema do not fit\n",
        out);
}

static void version(FILE *out)
{
    fputs("mailroom-collector " MAILROOM_VERSION "\n", out);
}

// Returns the exit code of --switch-mode for an error of this kind.
static int exit_of_switch(enum err_kind kind)
{
    // program_exit_code has EX_SOFTWARE for a database that is away or refuses. Here that is no
    // internal error: the next try may succeed.
    int code = program_exit_code(kind);

    return code == EX_SOFTWARE ? EX_TEMPFAIL : code;
}

// Refuses a sender after '--' except in leased mode: such a sender answers for its tokens, and only
// leased mode reads answers.
static bool check_command(const struct config *c, char *const command[], struct err *e)
{
    if (!command || c->policy->answers)
        return true;
    return err_set(e, ERR_USAGE,
        "a sender after '--' needs MAILROOM_DEQUEUE=leased, and it is '%s'; set it, or use a pipe",
        c->dequeue);
}

static bool enter_sandbox(const struct config *config, const struct metrics *m, struct err *e)
{
    if (config->sandboxed)
        return sandbox_enter(metrics_keeps_files(m), e);
    log_line("MAIN", "MAILROOM_SANDBOX is 'off', so this process keeps all its rights");
    return true;
}

// Runs the collector until it ends. Returns the exit code.
static int collect(const struct config *config, char *const command[])
{
    struct metrics metrics = {.kind = METRICS_OFF};
    struct err e;
    int code;

    err_clear(&e);
    // The metrics are opened before the sandbox, in which no socket can begin to listen.
    if (program_catch_signals(&e) && metrics_open(&metrics, config, &e) &&
        enter_sandbox(config, &metrics, &e)) {
        code = collector_run(config, program_stop_fd(), STDOUT_FILENO, command, &metrics);
    } else {
        log_line("MAIN", "%s", e.text);
        code = program_exit_code(e.kind);
    }
    metrics_close(&metrics);
    return code;
}

// Loads the settings, and then collects or switches the mode of the queue. Returns the exit code.
// `command`: the sender's; NULL: we start none.
static int run(bool switching, char *const command[])
{
    struct config config = {0};
    struct err e;
    int code;

    err_clear(&e);
    program_stay_private();
    log_never_wait();
    variables_warn_of_unknown(&config_variables, environ);
    // The launcher is forked before the settings are read, so that it has the key only in its
    // environment, which it wipes; and before the sandbox, which forbids fork.
    bool ok = program_hold_standard_files(true, &e) && (!command || launch_open(command, &e)) &&
              config_load(&config, environ, &e);
    // The secrets are wiped even when the settings are refused, because /proc shows the
    // environment to others for as long as we run.
    variables_wipe(&config_variables, environ);
    ok = ok && check_command(&config, command, &e);
    if (ok && switching) {
        ok = switch_mode(&config, &e);
        code = exit_of_switch(e.kind);
    } else if (ok) {
        code = collect(&config, command);
    } else {
        code = program_exit_code(e.kind);
    }
    if (!ok)
        log_line("MAIN", "%s", e.text);
    config_fini(&config);
    return code;
}

static int refuse(void)
{
    fputs("Try 'mailroom-collector --help'.\n", stderr);
    return EX_USAGE;
}

int main(int argc, char **argv)
{
    static const struct option longs[] = {{"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'V'}, {"settings", no_argument, NULL, 's'},
        {"switch-mode", no_argument, NULL, 'm'}, {0}};
    bool switching = false;
    int option;

    // The plus ends the options at the first other argument, so that the sender's own options stay
    // its own.
    while ((option = getopt_long(argc, argv, "+hV", longs, NULL)) != -1) {
        switch (option) {
        case 'h':
            return program_tell(help);
        case 'V':
            return program_tell(version);
        case 's':
            return program_tell(config_markdown);
        case 'm':
            switching = true;
            break;
        default:
            return refuse();
        }
    }
    char **command = argv + optind;
    bool sender = strcmp(argv[optind - 1], "--") == 0;
    bool has_command = *command != NULL;
    // '--' and a command after it go together.
    if (sender != has_command || (sender && switching)) {
        fprintf(stderr, "mailroom-collector: %s\n",
            !sender        ? "its arguments are options; a sender's command follows '--'"
            : !has_command ? "the sender's command is missing behind '--'"
                           : "--switch-mode runs no sender");
        return refuse();
    }
    return run(switching, sender ? command : NULL);
}
