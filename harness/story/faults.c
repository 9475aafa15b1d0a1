// The maps of a story's faults, which become a part of its scenario.
#include "scenario/parse.h"
#include "story/event.h"

// Adds a time in ms to the map, unless the map has this key already.
static void add_ms(struct node *map, const char *key, int64_t ns)
{
    char text[32];

    if (node_child(map, key))
        return;
    snprintf(text, sizeof text, "%lld.%06lldms", (long long)(ns / NS_PER_MS),
        (long long)(ns % NS_PER_MS));
    node_add(map, node_new(NODE_SCALAR, text, &map->origin), key, &map->origin);
}

// Adds a fault's map to the scenario. The times of the event say when it comes and how long it
// lasts.
static bool add_spec(struct node *faults, const struct event *source, struct err *e)
{
    struct node *map = NULL;
    struct event event = *source;

    if (!parse_yaml(&map, source->text, strlen(source->text), &source->origin, e))
        return false;
    node_add(faults, map, NULL, NULL);
    if (map->kind != NODE_MAP)
        return origin_err(&source->origin, e, "a fault is a map such as {do: reset}");
    event_complete(&event, &(struct default_context){0});
    const struct node *verb = node_child(map, "do");
    const struct verb *v = verb && verb->kind == NODE_SCALAR ? verb_find(verb->text) : NULL;
    int64_t lasts_ns = event.fault.ended_ns - event.fault.began_ns;
    // The scenario refuses a lasting fault without a length, and the story gives the length by
    // struck and undone.
    if (v && (v->params & PARAM_NEEDS_FOR))
        add_ms(map, "for", clock_max(lasts_ns, NS_PER_MS));
    // A story can tell of a fault before the load, but a scenario cannot plan one: the fault is
    // planned at 0.
    add_ms(map, "at", clock_max(event.fault.planned_ns - STORY_START_NS, 0));
    return true;
}

bool story_specs(const struct event *events, size_t count, struct node *root, struct err *e)
{
    static const struct origin here = {.file = "story", .line = 1, .column = 1};
    struct node *faults = node_new(NODE_LIST, NULL, &here);

    node_add(root, faults, "faults", &here);
    for (size_t i = 0; i < count; i++)
        if (events[i].kind == EVENT_FAULT && events[i].text && !add_spec(faults, &events[i], e))
            return false;
    return true;
}

bool story_spec_of(const struct event *events, size_t count, const struct event *event,
    uint32_t *spec, struct err *e)
{
    uint32_t fault = 0;

    *spec = 0;
    for (size_t i = 0; i < count; i++) {
        const struct event *other = &events[i];
        // Faults are numbered as they stand in the file, not by time.
        if (other->kind != EVENT_FAULT)
            continue;
        // An event with a map is the fault itself; one without names the fault by its number.
        if (event->text ? other == event : fault == event->first)
            return other->text ||
                   origin_err(&event->origin, e, "there is no fault %u with a map", fault);
        fault++;
        *spec += other->text != NULL;
    }
    return origin_err(&event->origin, e, "there is no fault %u with a map", event->first);
}
