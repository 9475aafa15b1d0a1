#include "cli/cli.h"

// The command by which a shell gets the names in one section of `mailproof list`: the scenarios or
// subjects that come with mailproof, or the keys. fish refuses a '$' that it cannot expand, so the
// '$' of sed is escaped.
#define NAMES_OF(section)                                                                          \
    "mailproof list 2>/dev/null | sed -n \"/^" section "/,/^\\$/s/^  \\([^ ]*\\) .*/\\1/p\""
#define SECTION_NAMES NAMES_OF("$section")
#define ARGUMENT_NAMES NAMES_OF("$argv[1]") // in a function of fish

// The command for the tags: `mailproof list` shows them in brackets behind the scenarios.
#define TAGS                                                                                       \
    "mailproof list 2>/dev/null | sed -n \"/^Scenarios/,/^\\$/s/.*\\[\\(.*\\)\\]\\$/\\1/p\" | "    \
    "tr -s \", \" \"\\n\" | sort -u"

// The keys as --set takes them: load.N.rate becomes load.0.rate=.
#define KEYS NAMES_OF("Keys") " | sed \"s/[.]N/.0/g; s/\\$/=/\""

// How the arguments of some options are completed: by one of `words`, or by a line that `command`
// prints. For all other options a shell completes a file.
static const struct argument {
    const char *option, *words, *command;
    bool no_blank; // true: the user types on after the word, so the shell adds no blank to it
} arguments[] = {
    {"postgres", "local container patroni", NULL, false},
    {"set", NULL, KEYS, true},
    {"subject", NULL, NAMES_OF("Subjects"), false},
    {"tag", NULL, TAGS, false},
};
enum { ARGUMENTS = sizeof arguments / sizeof *arguments };

// Returns how the argument of an option is completed; NULL: as a file.
static const struct argument *argument_of(const char *option)
{
    for (size_t i = 0; i < ARGUMENTS; i++) {
        if (strcmp(arguments[i].option, option) == 0)
            return &arguments[i];
    }
    return NULL;
}

// Returns the section of `mailproof list` that has the names which a command takes.
static const char *section_of(const struct command *c)
{
    return c->scope == SCOPE_FIELD ? "Subjects" : "Scenarios";
}

// Prints an option; if *needs_argument, only one that takes an argument.
static void print_bash_option(const struct option_text *o, void *needs_argument)
{
    if (o->argument || !*(const bool *)needs_argument)
        printf(" --%s", o->name);
}

// Prints a branch of bash's `case` for each row of `arguments`: it sets `words` to the row's words,
// or to the output of its command.
static void print_bash_arguments(void)
{
    for (size_t i = 0; i < ARGUMENTS; i++) {
        const struct argument *a = &arguments[i];
        printf("        --%s) words=%s%s%s%s ;;\n", a->option, a->words ? "'" : "$(",
            a->words ? a->words : a->command, a->words ? "'" : ")",
            a->no_blank ? "; compopt -o nospace" : "");
    }
}

// Prints a function for bash. Word 1 is the subcommand. At a later word the function looks up what
// the subcommand takes, and then completes the argument of the option before the cursor, an option,
// or a name.
static void print_bash(const struct command *commands, size_t count)
{
    bool all = false, with_argument = true; // of the options: all, or only those with an argument

    puts("# bash completion for mailproof\n"
         "_mailproof()\n{\n"
         "    local word=${COMP_WORDS[COMP_CWORD]} words= section=Scenarios\n"
         "    local option=${COMP_WORDS[COMP_CWORD - 1]} with_argument=\n"
         "    case $COMP_CWORD:${COMP_WORDS[1]} in");
    fputs("    1:*) words='", stdout);
    for (size_t i = 0; i < count; i++)
        printf("%s%s", i ? " " : "", commands[i].name);
    puts(" --help --version' ;;");
    for (size_t i = 0; i < count; i++) {
        printf("    *:%s) words='", commands[i].name);
        options_each(commands[i].scope, print_bash_option, &all);
        printf("' section=%s\n        with_argument='", section_of(&commands[i]));
        options_each(commands[i].scope, print_bash_option, &with_argument);
        puts(" ' ;;");
    }
    puts("    esac\n"
         "    # The word behind an option is its argument; without words, bash completes a file.\n"
         "    if [[ $with_argument == *\" $option \"* ]]; then\n"
         "        words= section=\n"
         "        case $option in");
    // The argument of an option is completed in the same way for all subcommands.
    print_bash_arguments();
    puts("        esac\n"
         "    elif [[ $word == -* ]]; then\n"
         "        section=\n"
         "    fi\n"
         "    # Any other word is a scenario's or a subject's name, or a file.\n"
         "    if [[ $COMP_CWORD -gt 1 && $section ]]; then\n"
         "        words=$(" SECTION_NAMES ")\n"
         "    fi\n"
         "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
         "}\n"
         "complete -o default -F _mailproof mailproof");
}

// Prints a text for use between single quotes in zsh and fish.
static void print_quoted(const char *text)
{
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", stdout);
        else
            putchar(*text);
    }
}

// Prints how zsh completes the argument of an option, as the end of an item of _arguments: a colon,
// the argument's name, a colon, and what it offers (files, fixed words, or each line of a command's
// output). compadd -S "" adds no blank after the word.
static void print_zsh_argument(const struct option_text *o)
{
    const struct argument *a = argument_of(o->name);

    printf(":%s:", o->argument);
    if (!a)
        fputs("_default", stdout);
    else if (a->words)
        printf("(%s)", a->words);
    else
        printf("{compadd %s-- ${(f)\"$(%s)\"}}", a->no_blank ? "-S \"\" " : "", a->command);
}

// Prints an option with its help in brackets, as zsh's _arguments wants it. Brackets, colons and
// backslashes in the help are escaped.
static void print_zsh_option(const struct option_text *o, void *unused)
{
    (void)unused;
    printf(" \\\n            '*--%s%s[", o->name, o->argument ? "=" : "");
    for (const char *c = o->help; *c; c++) {
        const char one[] = {*c, '\0'};
        if (strchr("[]:\\", *c))
            putchar('\\');
        print_quoted(one);
    }
    putchar(']');
    if (o->argument)
        print_zsh_argument(o);
    putchar('\'');
}

// Prints a function for zsh, which counts words from 1, so word 2 is the subcommand. At a later
// word (CURRENT) the function drops word 1, mailproof. So _arguments takes the subcommand for the
// command, and completes its options and names.
static void print_zsh(const struct command *commands, size_t count)
{
    puts("#compdef mailproof\n"
         "_mailproof_names()\n{\n"
         "    local section=$1 names\n"
         "    names=$(" SECTION_NAMES ")\n"
         "    compadd -- ${(f)names}\n"
         "    _files\n"
         "}\n"
         "local -a commands=(");
    // zsh shows each word's help beside the word; bash shows only the words.
    for (size_t i = 0; i < count; i++) {
        printf("    '%s:", commands[i].name);
        print_quoted(commands[i].help);
        puts("'");
    }
    puts(")\n"
         "if (( CURRENT == 2 )); then\n"
         "    _describe command commands\n"
         "else\n"
         "    (( CURRENT-- ))\n"
         "    shift words\n"
         "    case $words[1] in");
    for (size_t i = 0; i < count; i++) {
        printf("    %s)\n        _arguments", commands[i].name);
        options_each(commands[i].scope, print_zsh_option, NULL);
        printf(" \\\n            '*: :{_mailproof_names %s}' ;;\n", section_of(&commands[i]));
    }
    puts("    esac\nfi");
}

// Prints what fish offers as the argument of an option. -r: there is an argument; -f: files are not
// offered; -a: these words are.
static void print_fish_argument(const struct option_text *o)
{
    const struct argument *a = argument_of(o->name);

    fputs(" -r", stdout);
    if (a && a->words)
        printf(" -f -a '%s'", a->words);
    else if (a)
        printf(" -f -a '(%s)'", a->command);
}

static void print_fish_option(const struct option_text *o, void *context)
{
    const struct command *command = context;

    printf(
        "complete -c mailproof -n '__fish_seen_subcommand_from %s' -l %s", command->name, o->name);
    if (o->argument)
        print_fish_argument(o);
    fputs(" -d '", stdout);
    print_quoted(o->help);
    puts("'");
}

// Prints rules for fish: which words (-a) or option (-l) it offers, and when (-n): before there is
// a subcommand, or after this one.
static void print_fish(const struct command *commands, size_t count)
{
    puts("# fish completion for mailproof\n"
         "function __mailproof_names\n"
         "    " ARGUMENT_NAMES "\n"
         "end");
    for (size_t i = 0; i < count; i++) {
        printf("complete -c mailproof -n __fish_use_subcommand -f -a %s -d '", commands[i].name);
        print_quoted(commands[i].help);
        puts("'");
        options_each(commands[i].scope, print_fish_option, (void *)&commands[i]);
        printf("complete -c mailproof -n '__fish_seen_subcommand_from %s' -a "
               "'(__mailproof_names %s)'\n",
            commands[i].name, section_of(&commands[i]));
    }
}

bool completion_print(const char *shell, const struct command *commands, size_t count)
{
    static const struct {
        const char *shell;
        void (*print)(const struct command *commands, size_t count);
    } shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};

    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++) {
        if (strcmp(shells[i].shell, shell) == 0) {
            shells[i].print(commands, count);
            return true;
        }
    }
    return false;
}
