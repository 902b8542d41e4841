// What each program checks itself by.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define OK(call) IS(call, cudaSuccess)
// A call that ends with a code.
#define IS(call, want)                                                                                  \
  do {                                                                                                  \
    cudaError_t got_ = (call);                                                                          \
    if (got_ != (want)) {                                                                               \
      fprintf(stderr, "%s:%d: %s is %s\n", __FILE__, __LINE__, #call, cudaGetErrorName(got_));           \
      exit(1);                                                                                          \
    }                                                                                                   \
  } while (0)
#define EXPECT(what)                                                                                    \
  do {                                                                                                  \
    if (!(what)) {                                                                                      \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what);                                 \
      exit(1);                                                                                          \
    }                                                                                                   \
  } while (0)
