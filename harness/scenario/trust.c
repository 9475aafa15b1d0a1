#include "scenario/trust.h"

#include <string.h>

bool trust_check(const struct scenario *s, const struct node *root, enum trust trust, struct err *e)
{
    if (trust == TRUST_ALL)
        return true;
    for (size_t i = 0; i < s->load_count; i++) {
        const struct node *phase = node_item(node_child(root, "load"), i);
        if (s->load[i].file && strchr(s->load[i].file, '/'))
            return node_err(node_child(phase, "file"), e,
                "a scenario of somebody else may only name a file in its own folder");
    }
    return true;
}
