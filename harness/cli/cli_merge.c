// mailproof merge DIR...: calls once more the command whose shards lie in these folders. That
// command then makes no runs, but takes the results of the shards, and so ends with the exit code,
// tables and pages that it would have had on one machine.
#include "cli/cli.h"

#include "check/check.h"
#include "shards/merge.h"

static const struct {
    const char *name;
    enum option_scope scope;
    int (*run)(const struct options *o);
} commands[] = {{"explore", SCOPE_EXPLORE, cli_explore}, {"run", SCOPE_RUN, cli_run},
    {"field", SCOPE_FIELD, cli_field}, {"tune", SCOPE_TUNE, cli_tune}};

#define COMMANDS (sizeof commands / sizeof *commands)

// Returns the place of a command in `commands`; COMMANDS: its shards cannot be merged.
static size_t find_shards_command(const char *name)
{
    size_t i = 0;

    while (i < COMMANDS && strcmp(commands[i].name, name) != 0)
        i++;
    return i;
}

// Replaces the options that say what is written, and where, by those of merge (o). All other
// options stay as the shards had them.
static void replace_output_options(struct options *shard_options, const struct options *o)
{
    shard_options->out = o->out;
    shard_options->quiet = o->quiet;
    shard_options->shard = (struct shard){0};
    shard_options->run.junit = o->run.junit;
    shard_options->markdown = o->markdown;
    shard_options->json_file = o->json_file;
    shard_options->csv = o->csv;
    shard_options->field.site = o->field.site;
    shard_options->field.commands = o->field.commands;
}

// Parses the shards' words as a command line, runs the command with the merged results and with
// the output options of merge (o), and returns its exit code.
static int run_shards_command(
    size_t command, char **words, int count, const struct merged *m, const struct options *o)
{
    struct options shard_options FREED_BY(options_fini) = {0};
    struct err e = {0};

    if (!options_parse(&shard_options, commands[command].scope, count, words, &e)) {
        err_prefix(&e, "the shards' options");
        return cli_fail(&e);
    }
    replace_output_options(&shard_options, o);
    shard_options.merged = m;
    return commands[command].run(&shard_options);
}

// True for a word that a shard may have noted: an argument, or an option that affects the results.
// Other options in a record do not come from mailproof, and might name a file to write.
static bool is_noted(const char *word)
{
    char name[40];

    if (*word != '-')
        return true;
    int len = snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    return strncmp(word, "--", 2) == 0 && len < (int)sizeof name &&
           options_affects_results(name + 2);
}

// Appends the words of the record to the command's name in words[0]; false at a word that no shard
// has noted.
static bool take_words(char **words, const json_t *asked, struct err *e)
{
    size_t i;
    json_t *word;

    json_array_foreach(asked, i, word)
    {
        const char *text = json_string_value(word);
        if (!text || !is_noted(text))
            return err_set(
                e, ERR_USAGE, "a shard's record cannot ask for '%.60s'", text ? text : "");
        words[i + 1] = (char *)text;
    }
    return true;
}

// Calls the shards' command with the options that the shards had, and returns the exit code.
static int finish_merge(const struct merged *m, const struct options *o, struct err *e)
{
    const char *text = json_string_value(json_object_get(m->head, "command"));
    const char *name = text ? text : "";
    const json_t *asked = json_object_get(m->head, "asked");
    size_t command = find_shards_command(name), count = json_array_size(asked);

    if (command == COMMANDS) {
        err_set(e, ERR_USAGE, "shards of '%.40s' cannot be merged by this version", name);
        return cli_fail(e);
    }
    // The command's name, its words, and NULL.
    char **words FREED_BY(memory_free) = memory_zeroed(count + 2, sizeof *words);
    words[0] = (char *)commands[command].name;
    if (!take_words(words, asked, e))
        return cli_fail(e);
    int code = run_shards_command(command, words, (int)count + 1, m, o);
    if (*m->gaps == '\0')
        return code;
    fflush(stdout);
    fprintf(stderr, "mailproof: merge: %s, so this is inconclusive\n", m->gaps);
    return cli_worse(code, verdict_exit_code(VERDICT_INCONCLUSIVE));
}

int cli_merge(const struct options *o)
{
    struct merges all FREED_BY(merges_fini) = {0};
    struct err e = {0};
    int code = EXIT_OK;

    bool ok = (*o->args || err_set(&e, ERR_USAGE, "merge: name the folders of the shards")) &&
              merge_records(&all, o->args, &e);
    if (!ok)
        code = cli_fail(&e);
    for (size_t i = 0; ok && i < all.count; i++) {
        int merged = finish_merge(&all.items[i], o, &e);
        code = i == 0 ? merged : cli_worse(code, merged);
    }
    return code;
}
