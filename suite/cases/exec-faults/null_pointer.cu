// A pointer that was never set.
#include "fault.h"
struct Node {
  int value;
  Node *next;
};
__global__ void second(Node *list, int *out) {
  *out = list->next->value;  // finds: oob_global
}
int main(int argc, char **argv) {
  Node *list = filled<Node>(2);
  int *out = filled<int>(1);
  Node first = {1, is_clean(argc, argv) ? list + 1 : nullptr};
  cudaMemcpy(list, &first, sizeof first, cudaMemcpyHostToDevice);
  second<<<1, 1>>>(list, out);
  cudaDeviceSynchronize();
  cudaFree(list), cudaFree(out);
}
