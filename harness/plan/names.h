// The accounts' names, from which every token can be told again wherever it
// turns up: in the database, in a line, in a torn line.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Room for the longest name with its NUL.
#define NAMES_MAX 48

// The login of a token's account, e.g. t0000042; returns its length.
size_t names_login(char out[NAMES_MAX], uint32_t token);

// Its address, e.g. t0000042@mailproof.invalid (a domain that no mail leaves for).
size_t names_email(char out[NAMES_MAX], uint32_t token);

// The token behind a login; false when it is none of ours.
bool names_token(const char *login, size_t len, uint32_t *token);
