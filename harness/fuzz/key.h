// The key that both sides of a test know.
#pragma once

static const unsigned char fuzz_key[32] = "a key that is 32 bytes long, yes";
