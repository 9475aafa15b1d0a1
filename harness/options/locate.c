#include "options/locate.h"

#include <dirent.h>
#include <fnmatch.h>
#include <sys/stat.h>

#include "os/paths.h"

// For scandir: true for a scenario's file. Hidden files are none.
static int is_scenario(const struct dirent *entry)
{
    return fnmatch("*.yaml", entry->d_name, FNM_PERIOD) == 0;
}

// Adds the scenarios of a folder. ERR_USAGE when it has none.
static bool add_folder(struct paths *p, const char *dir, struct err *e)
{
    char path[PATH_MAX], stored[PATH_MAX];
    struct dirent **found = NULL;

    if (!path_join(stored, dir, "scenario.yaml", e))
        return false;
    // A result folder stands for the scenario of its run.
    if (path_exists(stored) && path_has(dir, "result.json")) {
        memory_add_text(&p->items, &p->count, stored);
        return true;
    }
    // Not by glob, which would take brackets in the folder's name for a pattern.
    int count = scandir(dir, &found, is_scenario, alphasort);
    bool ok = count > 0 || err_set(e, ERR_USAGE, "%s holds no scenario (*.yaml)", dir);
    for (int i = 0; i < count; i++) {
        ok = ok && path_join(path, dir, found[i]->d_name, e);
        if (ok)
            memory_add_text(&p->items, &p->count, path);
        free(found[i]);
    }
    free(found);
    return ok;
}

// Copies a file's name without the ending .yaml. Returns false, and copies the name unchanged, if
// it does not have this ending.
static bool without_ending(char name[NAME_MAX + 1], const char *file)
{
    const size_t ending = strlen(".yaml"), len = strlen(file);
    bool ends = len > ending && strcmp(file + len - ending, ".yaml") == 0;

    snprintf(name, NAME_MAX + 1, "%.*s", (int)(ends ? len - ending : len), file);
    return ends;
}

// Offers the names of the scenarios in `dir` as suggestions.
static void suggest_scenario(struct suggestion *s, const char *dir)
{
    DIR *entries = opendir(dir);
    struct dirent *entry;
    char name[NAME_MAX + 1];

    while (entries && (entry = readdir(entries))) {
        if (without_ending(name, entry->d_name))
            suggest_offer(s, name);
    }
    if (entries)
        closedir(entries);
}

bool locate_scenarios(struct paths *p, const char *name, struct err *e)
{
    char dir[PATH_MAX], file[PATH_MAX], path[PATH_MAX], word[NAME_MAX + 1];
    struct suggestion near;
    struct stat st;

    // A file or folder with this name comes first, as for any other program, and then a scenario
    // that comes with mailproof.
    if (stat(name, &st) == 0 && S_ISDIR(st.st_mode))
        return add_folder(p, name, e);
    if (stat(name, &st) == 0) {
        memory_add_text(&p->items, &p->count, name);
        return true;
    }
    // A name with a slash can only be a path, and no scenario has a name of over 200 bytes.
    if (strchr(name, '/') || strlen(name) > 200)
        return err_set(e, ERR_USAGE, "there is no scenario file or folder %.300s", name);
    if (!path_share(dir, "scenarios", e))
        return false;
    if (strcmp(name, "scenarios") == 0)
        return add_folder(p, dir, e);
    snprintf(file, sizeof file, "%s.yaml", name);
    if (!path_join(path, dir, file, e))
        return false;
    if (path_exists(path)) {
        memory_add_text(&p->items, &p->count, path);
        return true;
    }
    // A scenario's name is not a path, but a user who has such a file here probably meant the file.
    if (path_exists(file))
        return err_set(
            e, ERR_USAGE, "there is no scenario '%s'; did you mean the file %s?", name, file);
    // A user may have written the ending, which the names of scenarios lack.
    without_ending(word, name);
    suggest_init(&near, word);
    suggest_scenario(&near, dir);
    return err_set(e, ERR_USAGE,
        "there is no scenario '%s': neither a file, a folder, nor one that 'mailproof list' "
        "shows%s",
        name, near.text);
}

void locate_fini(struct paths *p)
{
    for (size_t i = 0; i < p->count; i++)
        free(p->items[i]);
    free(p->items);
    *p = (struct paths){0};
}

void locate_tag_init(struct tag_search *search, const char *tag)
{
    *search = (struct tag_search){.tag = tag};
    suggest_init(&search->near, tag ? tag : "");
}

// Offers a tag as a suggestion, and adds it to the tags that were seen, once and if it fits.
static void note_tag(struct tag_search *search, const char *tag)
{
    char item[100];
    size_t len = strlen(search->seen);

    suggest_offer(&search->near, tag);
    int item_len = snprintf(item, sizeof item, " %s,", tag);
    if (item_len < (int)(sizeof search->seen - len) && !strstr(search->seen, item))
        snprintf(search->seen + len, sizeof search->seen - len, "%s", item);
}

bool locate_tagged(struct tag_search *search, const struct scenario *s)
{
    for (char **t = s->tags; *t; t++)
        note_tag(search, *t);
    return scenario_has_tag(s, search->tag);
}

bool locate_no_tag(const struct tag_search *search, struct err *e)
{
    const int len = (int)strlen(search->seen) - 1; // without the last comma

    // A list of all tags helps only if none of them is near to the wanted one.
    if (*search->near.text || len < 0)
        return err_set(
            e, ERR_USAGE, "no scenario carries the tag '%.100s'%s", search->tag, search->near.text);
    return err_set(e, ERR_USAGE, "no scenario carries the tag '%.100s'; the tags are%.*s",
        search->tag, len, search->seen);
}
