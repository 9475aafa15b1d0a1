#include "plan/names.h"

#include <stdio.h>

#define DIGITS_MIN 7
#define DIGITS_MAX 9

size_t names_login(char out[NAMES_MAX], uint32_t token)
{
    return (size_t)snprintf(out, NAMES_MAX, "t%0*u", DIGITS_MIN, (unsigned)token);
}

size_t names_email(char out[NAMES_MAX], uint32_t token)
{
    return (size_t)snprintf(out, NAMES_MAX, "t%0*u@mailproof.invalid", DIGITS_MIN, (unsigned)token);
}

bool names_token(const char *login, size_t len, uint32_t *token)
{
    uint32_t number = 0;

    if (len < 1 + DIGITS_MIN || len > 1 + DIGITS_MAX || login[0] != 't')
        return false;
    for (size_t i = 1; i < len; i++) {
        if (login[i] < '0' || login[i] > '9')
            return false;
        number = number * 10 + (uint32_t)(login[i] - '0');
    }
    // One spelling per number: no leading zero beyond the seven digits.
    if (len > 1 + DIGITS_MIN && login[1] == '0')
        return false;
    *token = number;
    return true;
}
