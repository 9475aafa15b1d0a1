#include "options/options.h"

#include "scenario/needs.h"
#include "scenario/suggest.h"

// Copies the next word of a comma-separated list, and moves *list past it. False when no word is
// left.
static bool next_word(const char **list, char *word, size_t size)
{
    if (!*list || !**list)
        return false;
    size_t len = strcspn(*list, ",");
    snprintf(word, size, "%.*s", (int)len, *list);
    *list += len + ((*list)[len] == ',');
    return true;
}

static bool is_listed(const char *list, const char *name)
{
    char word[80];

    while (next_word(&list, word, sizeof word)) {
        if (strcmp(word, name) == 0)
            return true;
    }
    return false;
}

// Checks that each word of the list names one of the scenarios or, with `tags`, a tag of one.
static bool check_list(const char *option, const char *list, bool tags,
    const struct scenario *scenarios, size_t count, struct err *e)
{
    char word[80];

    while (next_word(&list, word, sizeof word)) {
        struct suggestion near;
        bool found = false;
        suggest_init(&near, word);
        for (size_t i = 0; i < count; i++) {
            const struct scenario *s = &scenarios[i];
            found = found || (tags ? scenario_has_tag(s, word) : strcmp(s->name, word) == 0);
            if (tags) {
                for (char **t = s->tags; *t; t++)
                    suggest_offer(&near, *t);
            } else {
                suggest_offer(&near, s->name);
            }
        }
        // A misspelled name must not pass: the scenario that the user wants to skip would run.
        if (!found)
            return err_set(e, ERR_USAGE, "--%s: none of the scenarios %s '%.60s'%s", option,
                tags ? "carries the tag" : "is called", word, near.text);
    }
    return true;
}

bool skips_check(
    const struct scenario *scenarios, size_t count, const struct options *o, struct err *e)
{
    return check_list("skip", o->run.skip, false, scenarios, count, e) &&
           check_list("skip-tag", o->run.skip_tag, true, scenarios, count, e);
}

bool skips_permit(const struct scenario *s, const struct options *o, struct err *e)
{
    if (is_listed(o->run.skip, s->name))
        return err_set(e, ERR_SKIP, "--skip names it");
    for (char **t = s->tags; *t; t++) {
        if (is_listed(o->run.skip_tag, *t))
            return err_set(e, ERR_SKIP, "--skip-tag names its tag '%s'", *t);
    }
    return needs_met(s, e);
}
