// Checks the rules that concern several keys of a fault, or several faults, and so do not fit into
// a row of the grammar.
#include "scenario/rules.h"
#include "scenario/grammar.h"
#include "scenario/messages.h"
#include "scenario/units.h"

// Checks that the verb takes the given parameters and that none is missing.
static bool check_params(const struct fault_spec *fault, const struct node *n, struct err *e)
{
    for (size_t i = 0; i < fault_table.count; i++) {
        const struct field *f = &fault_table.fields[i];
        const struct node *given = node_child(n, f->key);
        // These keys go with every verb.
        if (!f->param || f->any_verb)
            continue;
        if (given && !(fault->verb->params & f->param))
            return node_key_err(given, e, "%s takes no '%s'%s", fault->verb->name, f->key,
                f->param == PARAM_THROUGH ? "; partition and half-open do" : "");
        if (!given && f->needed && (fault->verb->params & f->param))
            return node_err(n, e, "'%s' is missing: %s needs it", f->key, fault->verb->name);
    }
    if ((fault->verb->params & PARAM_NEEDS_FOR) && fault->for_ns == 0)
        return node_err(n, e, "'for' is missing: how long %s lasts", fault->verb->name);
    return true;
}

// Checks `for`. Only a fault that ends a collector may last for `rest`: the collector then stays
// away until the run ends. With a time, it is started again after that time.
static bool check_fault_length(
    const struct scenario *s, const struct fault_spec *fault, const struct node *n, struct err *e)
{
    const struct node *length = node_child(n, "for");

    if (fault->for_ns == FOR_REST && !(fault->verb->params & PARAM_REST))
        return node_err(length, e,
            "only kill-collector and stop-collector last for the rest; write how long %s lasts, "
            "such as 2s",
            fault->verb->name);
    if (fault->for_ns == FOR_REST && fault->every_ns > 0)
        return node_err(
            length, e, "'every' does not go with rest, because the collector does not come back");
    if (fault->for_ns > 0 && (fault->verb->params & PARAM_REST) && !s->collector.restart)
        return node_err(length, e,
            "with collector.restart: false nothing starts it again; write rest, or leave 'for' "
            "out");
    return true;
}

// Checks `jitter` where it lets each repetition of a fault come later. With PARAM_JITTER it delays
// bytes instead, and needs no `every`.
static bool check_jitter(const struct fault_spec *fault, const struct node *n, struct err *e)
{
    const struct node *jitter = node_child(n, "jitter");
    int64_t lasts_ns = fault->for_ns > 0 ? fault->for_ns : 0;

    if (!jitter || (fault->verb->params & PARAM_JITTER))
        return true;
    if (fault->every_ns == 0)
        return node_key_err(jitter, e, "'jitter' has no effect without 'every'");
    return fault->jitter_ns + lasts_ns <= fault->every_ns ||
           node_err(jitter, e,
               "'%s'%s should not be longer than 'every', so that each one starts before the next",
               jitter->text, lasts_ns ? " and 'for' together" : "");
}

// Checks `by` and `target`, whose allowed values differ between step-clock and other verbs.
static bool check_by_and_target(const struct fault_spec *fault, const struct node *n, struct err *e)
{
    const struct node *by = node_child(n, "by"), *target = node_child(n, "target");
    bool steps = fault->verb->params & PARAM_STEP;
    bool has_clock = fault->target == TARGET_SERVER || fault->target == TARGET_COLLECTOR;

    // Other verbs also have the target collector, but only step-clock has the target server.
    if (target && (steps ? !has_clock : fault->target == TARGET_SERVER))
        return node_err(target, e,
            steps ? "'%s' has no clock; write collector or server"
                  : "'%s' is a target of step-clock only",
            target->text);
    if (by && !steps && (fault->by_ns < NS_PER_US || fault->by_ns > 60 * NS_PER_S))
        return node_err(by, e, "'%s' should lie between 1us and 1m", by->text);
    return !by || fault->by_ns != 0 || node_err(by, e, "'%s' is no step", by->text);
}

// Checks that `message` names a kind of protocol message.
static bool check_message(const struct fault_spec *fault, const struct node *n, struct err *e)
{
    struct message_kind kind;

    return !fault->message || message_kind_parse(fault->message, &kind, e) ||
           node_err_here(node_child(n, "message"), e);
}

// Fails with an error that says how long the load lasts. `n` is the time that lies after its end.
static bool refuse_after_load(const struct node *n, int64_t load_ns, struct err *e)
{
    struct buf text FREED_BY(buf_fini) = BUF_INIT(64);

    units_print_duration(&text, load_ns);
    node_err(n, e, "'%s' lies after the end of the load, which lasts %s", n->text, buf_str(&text));
    return false;
}

// Checks all rules about one fault, which stands at `n`. If a repeated fault has no `until`, sets
// it to the load's end.
static bool check_planned_fault(const struct scenario *s, const struct node *root,
    struct fault_spec *fault, const struct node *n, struct err *e)
{
    int64_t load_ns = scenario_load_ns(s);
    const struct node *until = node_child(n, "until"), *verb = node_child(n, "do");

    if (!check_params(fault, n, e) || !check_message(fault, n, e))
        return false;
    if (fault->verb->needs_disk && s->postgres.storage != STORAGE_CRASHABLE)
        return node_err(verb, e, "%s needs postgres.storage: crashable", fault->verb->name);
    if (fault->verb->hits == HITS_SENDER && s->collector.dequeue != DEQUEUE_LEASED)
        return node_err(verb, e, "%s needs collector.dequeue: leased", fault->verb->name);
    if (fault->verb->needs_standby && s->postgres.standby == STANDBY_NONE)
        return node_err(verb, e, "%s needs postgres.standby: async or sync", fault->verb->name);
    if (!check_by_and_target(fault, n, e))
        return false;
    if (fault->verb->needs_cluster && file_names_no_cluster(s, root))
        return node_err(verb, e, "%s needs postgres.provider: patroni", fault->verb->name);
    if (fault->at_ns > load_ns)
        return refuse_after_load(node_child(n, "at"), load_ns, e);
    if (until && fault->every_ns == 0)
        return node_key_err(until, e, "'until' has no effect without 'every'");
    if (until && fault->until_ns > load_ns)
        return refuse_after_load(until, load_ns, e);
    if (until && fault->until_ns < fault->at_ns)
        return node_err(until, e, "'%s' lies before 'at'", until->text);
    // This default depends on another key, so no row of the grammar can express it.
    if (fault->every_ns > 0 && !until)
        fault->until_ns = load_ns;
    if (fault->every_ns > 0 && fault->for_ns > fault->every_ns)
        return node_err(node_child(n, "for"), e,
            "'%s' should not be longer than 'every', so that one is over before the next",
            node_child(n, "for")->text);
    if (!check_fault_length(s, fault, n, e) || !check_jitter(fault, n, e))
        return false;
    if (fault->instance >= s->collector.instances)
        return node_err(node_child(n, "instance"), e,
            "there is no instance %d; collector.instances is %d, and they are counted from 0",
            fault->instance, s->collector.instances);
    return true;
}

// Checks that all network faults go the same way, because a connection leads either through the
// proxy or through the two namespaces; and that the kernel can do what is asked of it.
static bool check_network(const struct scenario *s, const struct node *root, struct err *e)
{
    const struct node *faults = node_child(root, "faults");
    const struct fault_spec *previous = NULL;

    for (size_t i = 0; i < s->fault_count; i++) {
        const struct fault_spec *fault = &s->faults[i];
        const struct node *n = node_item(faults, i), *through = node_child(n, "through");
        if (fault->verb->hits != HITS_NETWORK)
            continue;
        if (previous && previous->through != fault->through)
            return node_err(n, e,
                "%s would go through the %s and %s before it through the %s; in one scenario all "
                "go the same way",
                fault->verb->name, fault_through_name(fault->through), previous->verb->name,
                fault_through_name(previous->through));
        previous = fault;
        if (fault->through != THROUGH_KERNEL)
            continue;
        if (fault->reset)
            return node_key_err(node_child(n, "reset"), e,
                "the kernel drops what it withholds, and never resets; leave 'reset' out");
        if (file_names_other_provider(s, root))
            return node_err(through, e, "through: kernel needs postgres.provider: local");
    }
    return true;
}

bool check_faults(struct scenario *s, const struct node *root, struct err *e)
{
    const struct node *faults = node_child(root, "faults");

    for (size_t i = 0; i < s->fault_count; i++)
        if (!check_planned_fault(s, root, &s->faults[i], node_item(faults, i), e))
            return false;
    return check_network(s, root, e);
}
