// A peer of `prenorm norms --bench` that computes nothing: the command must notice before it times anything.
#include "tools/norm_bench/norm_peer.h"

const char* prenorm_peer_describe(void) { return "wrong 1.0"; }

void* prenorm_peer_prepare(const prenorm_peer_case* which, int*) { return which->out; }

void prenorm_peer_run(void*, size_t) {}

void prenorm_peer_release(void*) {}
