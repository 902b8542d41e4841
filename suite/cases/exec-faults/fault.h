// Programs with one fault each, which the argument `clean` takes out. The line that is to be found has `finds: KIND`.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <cstring>

inline bool is_clean(int argc, char **argv) { return argc > 1 && !strcmp(argv[1], "clean"); }

template <typename T>
T *card(int n) {
  T *x = nullptr;
  if (cudaMalloc(&x, n * sizeof(T))) exit(9);
  return x;
}

template <typename T>
T *filled(int n) {
  T *x = card<T>(n);
  if (cudaMemset(x, 0, n * sizeof(T))) exit(9);
  return x;
}
