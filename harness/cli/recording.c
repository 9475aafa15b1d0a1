#include "cli/recording.h"

#include <stdio.h>

#include "report/environment.h"

static const char *program(void)
{
    static char text[120];
    const struct durability_proof none = {0};
    struct environment here = {0};

    environment_take(&here, &none, 0);
    snprintf(text, sizeof text, "mailproof %s (%s)", here.mailproof, here.commit);
    return text;
}

void recording_head(
    struct record_head *head, const struct options *o, const char *command, const char *about)
{
    *head = (struct record_head){
        .command = command,
        .about = about,
        .asked = (const char *const *)o->asked,
        .program = program(),
        .shard = o->shard,
        .merged = o->merged,
    };
}
